//! No work kind is known to the host by name: dispatch is by registration.

use anyhow::Result;

use super::Violation;
use super::source::{self, Text};
use crate::workspace::Workspace;

/// Places in the host that name a kind of a shipped handler, which is known by its crate's name.
/// The demonstration is excepted: it shows those handlers.
///
/// # Errors
/// When a source file cannot be read.
pub(super) fn violations(workspace: &Workspace) -> Result<Vec<Violation>> {
    let kinds: Vec<Kind> = workspace.handlers().iter().map(|package| Kind::new(&package.name)).collect();
    let mut violations = Vec::new();
    for source in source::read(&workspace.root(), "host")? {
        if source.file.starts_with("host/xtask/src/demo") || source.file.starts_with("host/xtask/src/demo.rs") {
            continue;
        }
        for piece in &source.pieces {
            for kind in kinds.iter().filter(|kind| kind.is_named_by(&piece.text)) {
                violations.push(Violation {
                    place: format!("{}:{}", source.file.display(), piece.line),
                    what: format!("names the work kind `{}`; the host knows kinds by registration alone", kind.name),
                });
            }
        }
    }
    Ok(violations)
}

/// A kind's name, and the forms in which code would have it.
struct Kind {
    name: String,
    names_in_code: [String; 3],
}

impl Kind {
    fn new(name: &str) -> Self {
        let snake = name.replace('-', "_");
        let capitalised = |word: &str| {
            word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect::<String>()
        };
        let camel = name.split('-').map(capitalised).collect();
        Self { name: name.to_owned(), names_in_code: [snake.to_uppercase(), snake, camel] }
    }

    fn is_named_by(&self, text: &Text) -> bool {
        match text {
            Text::Name(name) => self.names_in_code.contains(name),
            Text::Literal(text) => text
                .split(|letter: char| !letter.is_alphanumeric() && letter != '-' && letter != '_')
                .any(|word| word == self.name || word == self.names_in_code[1]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::*;

    fn with(file: &str, text: &str) -> usize {
        let tree = Tree::workspace();
        tree.write(file, text);
        violations(&Workspace::load_at(tree.root()).unwrap()).unwrap().len()
    }

    #[test]
    fn a_kind_named_in_the_host_is_found_as_text_and_as_code() {
        for code in [
            "match kind { \"token-cleanup\" => g(), _ => h() }",
            "g(r\"every token-cleanup, daily\")",
            "include_bytes!(\"token_cleanup.wasm\")",
            "TokenCleanup::run()",
            "token_cleanup::run()",
            "TOKEN_CLEANUP.run()",
        ] {
            assert_eq!(with("host/daemon/src/a.rs", &format!("fn f() {{ {code} }}")), 1, "{code}");
        }
    }

    #[test]
    fn an_attribute_that_dispatches_is_found_and_help_for_people_is_not() {
        assert_eq!(with("host/daemon/src/a.rs", "#[serde(rename = \"token-cleanup\")] struct A;"), 1);
        assert_eq!(
            with("host/daemon/src/a.rs", "#[command(after_help = \"workhost enqueue token-cleanup\")] struct A;"),
            0
        );
    }

    #[test]
    fn tests_comments_longer_words_and_the_demonstration_may_name_it() {
        for (file, text) in [
            ("host/daemon/src/a.rs", "// token-cleanup\n#[cfg(test)] mod tests { const K: &str = \"token-cleanup\"; }"),
            ("host/daemon/tests/a.rs", "const K: &str = \"token-cleanup\";"),
            ("host/daemon/src/a.rs", "const K: &str = \"my-token-cleanup\";"),
            ("host/xtask/src/demo.rs", "const K: &str = \"token-cleanup\";"),
            ("host/xtask/src/demo/data.rs", "const K: &str = \"token-cleanup\";"),
        ] {
            assert_eq!(with(file, text), 0, "{file}: {text}");
        }
    }
}
