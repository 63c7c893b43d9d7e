//! The check on deliberate violations.

use super::*;

/// A repository with two migrations, the first in two parts on PostgreSQL.
fn sound() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    write(
        &tree,
        "CHANGELOG.md",
        "- Migration 2 (two-way): a column\n  of more lines.\n- Migration 1 (one-way): all.\n",
    );
    for (store, files) in [
        ("postgres", &["0001_items.sql", "0001a_functions.sql", "0002_more.sql"][..]),
        ("sqlite", &["0001_items.sql", "0002_more.sql"]),
    ] {
        let mut code = String::new();
        for file in files {
            write(&tree, &format!("migrations/{store}/{file}"), "");
            code += &format!("include_str!(\"../../../../migrations/{store}/{file}\")\n");
        }
        write(&tree, &format!("host/queue/src/{store}/migrate.rs"), &code);
    }
    write(&tree, "migrations/postgres/oldest-server", "15\n");
    tree
}

fn write(tree: &tempfile::TempDir, file: &str, text: &str) {
    let file = tree.path().join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// Adds a file that the code applies.
fn add(tree: &tempfile::TempDir, store: &str, file: &str) {
    write(tree, &format!("migrations/{store}/{file}"), "");
    let code = format!("host/queue/src/{store}/migrate.rs");
    let before = fs::read_to_string(tree.path().join(&code)).unwrap();
    write(tree, &code, &format!("{before}include_str!(\"../../../../migrations/{store}/{file}\")\n"));
}

fn remove(tree: &tempfile::TempDir, file: &str) {
    fs::remove_file(tree.path().join(file)).unwrap();
}

/// The one finding, which must say all of this.
fn assert_found(tree: &tempfile::TempDir, words: &[&str]) {
    let found = findings(tree.path()).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(words.iter().all(|word| found[0].contains(word)), "{found:?}");
}

#[test]
fn sound_migrations_are_passed() {
    assert_eq!(findings(sound().path()).unwrap(), [""; 0]);
}

#[test]
fn a_migration_of_one_store_alone_is_found() {
    let tree = sound();
    remove(&tree, "migrations/sqlite/0002_more.sql");
    assert_found(&tree, &["migrations/sqlite", "no migration 2"]);
}

#[test]
fn a_gap_is_found_on_each_store() {
    let tree = sound();
    for store in STORES {
        add(&tree, store, "0004_late.sql");
    }
    write(
        &tree,
        "CHANGELOG.md",
        "- Migration 1 (one-way): a\n- Migration 2 (two-way): b\n- Migration 3 (two-way): c\n- Migration 4 (two-way): d\n",
    );
    let found = findings(tree.path()).unwrap();
    assert!(found.len() == 2 && found.iter().all(|finding| finding.contains("no migration 3")), "{found:?}");
}

#[test]
fn a_name_in_another_form_is_found() {
    for name in
        ["2_more.sql", "0002-more.sql", "0002_.sql", "0002ab_more.sql", "0000_more.sql", "0002_More.sql", "more.sql"]
    {
        let tree = sound();
        add(&tree, "sqlite", name);
        assert_found(&tree, &[name, "expected NNNN_name.sql"]);
    }
}

#[test]
fn a_number_that_is_taken_and_a_part_of_nothing_are_found() {
    let tree = sound();
    add(&tree, "postgres", "0002_another.sql");
    let found = findings(tree.path()).unwrap();
    assert!(found.iter().any(|finding| finding.contains("number 2 is taken")), "{found:?}");
    let tree = sound();
    add(&tree, "postgres", "0003a_rest.sql");
    assert_found(&tree, &["0003a_rest.sql", "further part of migration 3"]);
}

#[test]
fn two_names_for_one_migration_are_found() {
    let tree = sound();
    remove(&tree, "migrations/sqlite/0002_more.sql");
    add(&tree, "sqlite", "0002_less.sql");
    assert_found(&tree, &["migration 2 is called more and less"]);
}

#[test]
fn a_file_that_no_build_applies_is_found() {
    let tree = sound();
    write(&tree, "migrations/postgres/0001b_forgotten.sql", "");
    assert_found(&tree, &["0001b_forgotten.sql", "no build would ever apply it"]);
}

#[test]
fn a_migration_that_people_are_not_told_of_is_found() {
    let tree = sound();
    for (changelog, words) in [
        ("- Migration 1 (one-way): all.\n", "lacks a line `- Migration 2"),
        ("- Migration 1 (one-way): all.\n- Migration 2: more.\n", "CHANGELOG.md:2: expected"),
        ("- Migration 1 (one-way): all.\n- Migration 2 (both): more.\n", "CHANGELOG.md:2: expected"),
        ("- Migration 1 (one-way): all.\n- Migration 2 (two-way): \n", "CHANGELOG.md:2: expected"),
        (
            "- Migration 1 (one-way): a\n- Migration 2 (two-way): b\n- Migration 2 (one-way): b\n",
            "migration 2 more than once",
        ),
        (
            "- Migration 1 (one-way): a\n- Migration 2 (two-way): b\n- Migration 3 (one-way): c\n",
            "migration 3, which does not exist",
        ),
    ] {
        write(&tree, "CHANGELOG.md", changelog);
        let found = findings(tree.path()).unwrap();
        assert!(found.iter().any(|finding| finding.contains(words)), "{changelog}: {found:?}");
    }
}

#[test]
fn no_migrations_at_all_mean_that_the_check_is_blind() {
    let tree = sound();
    for store in STORES {
        fs::remove_dir_all(tree.path().join("migrations").join(store)).unwrap();
        fs::create_dir(tree.path().join("migrations").join(store)).unwrap();
    }
    write(&tree, "CHANGELOG.md", "");
    assert_found(&tree, &["there are none"]);
}
