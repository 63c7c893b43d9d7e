//! The rule on deliberate violations, by each route.

use super::super::tree::Tree;
use super::*;

/// A repository that keeps the rules.
fn sound() -> Tree {
    let tree = Tree::workspace();
    tree.write("host/queue/src/sqlite/enqueue.rs", "const S: &str = \"insert into work_items (kind) values (?1)\";");
    tree.write(
        "migrations/postgres/0001.sql",
        "-- insert into work_items is the function's\ninsert into workhost.work_items (kind) values ($1);",
    );
    tree.write("host/queue/src/sqlite/finish.rs", "const S: &str = \"update work_items set status = ?1\";");
    tree.write("examples/demo/report.rs", "const S: &str = \"select kind from work_items\";");
    tree
}

fn found(tree: &Tree) -> Vec<String> {
    violations(tree.root()).unwrap().iter().map(Violation::to_string).collect()
}

fn with(file: &str, text: &str) -> Vec<String> {
    let tree = sound();
    tree.write(file, text);
    found(&tree)
}

#[test]
fn a_sound_repository_breaks_no_rule() {
    assert_eq!(found(&sound()), Vec::<String>::new());
}

#[test]
fn the_table_is_out_of_reach_outside_the_queue_by_any_statement() {
    for statement in [
        "insert into work_items (kind) values ('x')",
        "INSERT OR IGNORE INTO work_items default values",
        "insert into workhost.\\\"work_items\\\" default values",
        "with x as (select 1)\\n update only public.work_items set status = 'queued'",
        "update or ignore work_items set status = 'queued'",
        "delete\\n  from work_items",
        "truncate table work_items",
        "select count(*) from work_items",
        "select 1 from a join workhost.work_items w on true",
    ] {
        let text = format!("fn f() {{ run(\"{statement}\") }}");
        assert_eq!(with("host/daemon/src/a.rs", &text).len(), 1, "{statement}");
    }
}

#[test]
fn raw_strings_macros_files_and_other_crates_are_no_way_round() {
    for (file, text) in [
        ("host/daemon/src/a.rs", "fn f() { run(r#\"delete from work_items\"#) }"),
        ("host/runtime/src/a.rs", "fn f() { sqlx::query!(\"delete from work_items\") }"),
        ("host/admin/src/a.rs", "fn f<Q>() { execute::<Q>(b\"delete from work_items\") }"),
        ("host/daemon/src/a.sql", "delete from work_items;"),
        ("host/shared/src/lib.rs", "pub const S: &str = \"delete from work_items\";"),
        ("handlers/token-cleanup/src/a.rs", "const S: &str = \"delete from work_items\";"),
        ("examples/shop/enqueue.sql", "insert into work_items (kind) values ('x');"),
        ("examples/demo/report.rs", "const S: &str = \"delete from work_items\";"),
    ] {
        assert_eq!(with(file, text).len(), 1, "{file}: {text}");
    }
}

#[test]
fn a_statement_put_together_from_parts_is_found() {
    for text in [
        "fn f() { builder(\"insert into \").push(\"work_items\") }",
        "fn f() { format!(\"update {table} set x = 1\", table = \"work_items\") }",
        "fn f() { concat!(\"delete from\", \" \", \"work_items\") }",
    ] {
        assert_eq!(with("host/runtime/src/a.rs", text).len(), 1, "{text}");
    }
}

#[test]
fn a_name_alone_and_a_word_that_contains_it_are_no_statement() {
    for text in ["json!({ \"work_items\": [] })", "metric(\"from old_work_items\")", "say(\"ready to update\")"] {
        assert_eq!(with("host/admin/src/a.rs", &format!("fn f() {{ {text} }}")), Vec::<String>::new());
    }
}

#[test]
fn a_second_insert_is_found_on_each_store_and_in_no_stores_file() {
    let insert = "const S: &str = \"insert into work_items default values\";";
    for file in ["host/queue/src/sqlite/other.rs", "host/queue/src/postgres/enqueue.rs", "host/queue/src/other.rs"] {
        assert_eq!(with(file, insert).len(), 1, "{file}");
    }
    assert_eq!(with("migrations/sqlite/0002.sql", "insert into work_items default values;").len(), 1);
}

#[test]
fn a_store_without_an_insert_means_that_the_rule_is_blind() {
    assert_eq!(with("host/queue/src/sqlite/enqueue.rs", "").len(), 1);
}
