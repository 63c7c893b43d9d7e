//! What is read, and what is left out.

use super::super::tree::Tree;
use super::*;

fn literals(files: &[(&str, &str)]) -> Vec<String> {
    let tree = Tree::workspace();
    for (file, text) in files {
        tree.write(file, text);
    }
    let pieces = read(tree.root(), "host").unwrap().into_iter().flat_map(|source| source.pieces);
    pieces
        .filter_map(|piece| match piece.text {
            Text::Literal(text) => Some(text),
            Text::Name(_) => None,
        })
        .collect()
}

#[test]
fn literals_of_every_form_are_read_also_inside_macros() {
    let text = r##"fn f() { g!(x, ["a"], r#"b"#); h("c\
        d", b"e", c"f"); }"##;
    assert_eq!(literals(&[("host/a/src/lib.rs", text)]), ["a", "b", "cd", "e", "f"]);
}

#[test]
fn comments_documentation_and_help_are_not_code() {
    let text = "//! \"a\"\n/// b\n#[doc = \"c\"]\n#[command(name = \"seen\", after_help = \"d\")]\nstruct S; // \"e\"\n/* \"f\" */";
    assert_eq!(literals(&[("host/a/src/lib.rs", text)]), ["seen"]);
}

#[test]
fn tests_are_left_out_inline_and_in_files_of_their_own() {
    let root = "#[cfg(test)] mod inline { const A: &str = \"a\"; }\n#[test] fn t() { f(\"b\") }\n\
                #[cfg(all(test, unix))]\nmod apart;\n#[tokio::test(start_paused = true)] async fn u() { f(\"c\") }\n\
                #[cfg(not(test))] const D: &str = \"seen\";";
    let files = [
        ("host/a/src/lib.rs", root),
        ("host/a/src/apart.rs", "const E: &str = \"e\";"),
        ("host/a/src/apart/more.rs", "const F: &str = \"f\";"),
        ("host/a/src/b/tests.rs", "const G: &str = \"g\";"),
        ("host/a/tests/it.rs", "const H: &str = \"h\";"),
        ("host/a/src/whole.rs", "#![cfg(test)]\nconst I: &str = \"i\";"),
    ];
    assert_eq!(literals(&files), ["seen"]);
}

#[test]
fn sql_files_are_read_without_their_comments() {
    assert_eq!(literals(&[("host/a/src/x.sql", "select 1; -- two\nselect 3;")]), ["select 1; \nselect 3;"]);
}
