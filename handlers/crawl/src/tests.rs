//! Whole crawls over real folders, into a real database.

mod fixture;
mod odd;
mod resume;

use serde_json::json;
use workhost_sdk::Ending;
use workhost_sdk::sql::Value;

use self::fixture::{Fixture, png};

#[test]
fn each_file_is_recorded_with_path_size_time_hash_and_pixels() {
    let crawl = Fixture::new();
    crawl.write("readme.txt", b"hello");
    crawl.write("photos/one.png", &png(640, 480));
    let summary = crawl.run();
    assert_eq!((&summary["files"], &summary["folders"], &summary["images"]), (&json!(2), &json!(2), &json!(1)));
    assert_eq!(summary["bytes"], 5 + png(640, 480).len());

    let rows = crawl.database.rows("select path, size, sha256, width, height from crawled_files order by path");
    let text = |text: &str| Value::from(text);
    assert_eq!(rows[1][..2], [text("readme.txt"), Value::Integer(5)]);
    assert_eq!(rows[1][2], text("2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"));
    assert_eq!(rows[1][3..], [Value::Null, Value::Null]);
    assert_eq!(rows[0][0], text("photos/one.png"));
    assert_eq!(rows[0][3..], [Value::Integer(640), Value::Integer(480)]);
    let recent = "select count(*) from crawl_files where modified_at between '2020' and '9999'";
    assert_eq!(crawl.database.rows(recent), [[Value::Integer(2)]]);
}

#[test]
fn a_changed_file_replaces_its_row() {
    let crawl = Fixture::new();
    crawl.write("a", b"old");
    crawl.run();
    crawl.write("a", b"newer");
    crawl.run();
    assert_eq!(crawl.database.rows("select size from crawl_files"), [[Value::Integer(5)]]);
}

#[test]
fn rows_of_files_and_folders_that_are_gone_are_removed() {
    let crawl = Fixture::new();
    for file in ["stays", "goes", "gone/a", "gone/deep/b", "gone/deep/er/c"] {
        crawl.write(file, b"x");
    }
    crawl.run();
    crawl.remove("goes");
    crawl.remove("gone");
    assert_eq!(crawl.run()["removed"], 4);
    assert_eq!(crawl.paths(), ["stays"]);
    assert_eq!(crawl.database.rows("select folder from crawl_folders"), [["".into()]]);
}

#[test]
fn a_folder_with_an_unreadable_file_removes_no_rows() {
    let mut crawl = Fixture::new();
    for file in ["f/a", "f/b", "f/gone/c", "g/d"] {
        crawl.write(file, b"x");
    }
    crawl.run();
    for gone in ["f/a", "f/gone", "g/d"] {
        crawl.remove(gone);
    }
    crawl.broken = vec!["f/b".to_owned()];
    let summary = crawl.run();
    assert_eq!((&summary["removed"], &summary["unreadable"]), (&json!(1), &json!(1)));
    assert_eq!(crawl.paths(), ["f/a", "f/b", "f/gone/c"]);

    crawl.broken.clear();
    assert_eq!(crawl.run()["removed"], 2);
    assert_eq!(crawl.paths(), ["f/b"]);
}

#[test]
fn an_unreadable_folder_keeps_all_rows_below_it_and_those_of_the_folder_that_holds_it() {
    let mut crawl = Fixture::new();
    for file in ["a", "f/b", "f/shut/c", "f/shut/deep/d", "f/open/e"] {
        crawl.write(file, b"x");
    }
    crawl.run();
    for gone in ["a", "f/b", "f/shut/c", "f/open/e"] {
        crawl.remove(gone);
    }
    crawl.broken = vec!["f/shut".to_owned()];
    let summary = crawl.run();
    assert_eq!((&summary["removed"], &summary["unreadable"]), (&json!(2), &json!(1)));
    assert_eq!(crawl.paths(), ["f/b", "f/shut/c", "f/shut/deep/d"]);
    let told = crawl.database.rows("select folder from crawl_folders where unreadable = 1 order by folder");
    assert_eq!(told, [["f".into()], ["f/shut".into()]]);
}

#[test]
fn without_the_granted_folder_a_crawl_fails_and_removes_nothing() {
    let mut crawl = Fixture::new();
    crawl.write("a", b"x");
    crawl.run();
    crawl.broken = vec![String::new()];
    let failure = crawl.attempt(None, u32::MAX).ending.unwrap_err();
    assert_eq!(failure.message, "the granted folder cannot be read: permission denied");
    assert_eq!(crawl.paths(), ["a"]);
}

#[test]
fn a_crawl_of_one_scope_leaves_the_rows_of_another() {
    let mut crawl = Fixture::new();
    crawl.write("a", b"x");
    crawl.write("f/b", b"x");
    crawl.run();
    crawl.scope = "another";
    crawl.run();
    crawl.remove("a");
    crawl.remove("f");
    assert_eq!(crawl.run()["removed"], 2);
    let left = crawl.database.rows("select scope, path from crawled_files order by path");
    assert_eq!(left, [["one".into(), "a".into()], ["one".into(), "f/b".into()]]);
}

#[test]
fn a_crawl_without_a_scope_fails_for_good() {
    let ran = workhost_sdk::testing::Host::new().run::<fixture::Here>(r#"{"path": "/"}"#);
    assert!(matches!(ran.ending, Err(failure) if failure.permanent));
}

#[test]
fn a_database_that_refuses_a_row_ends_the_crawl_as_a_failure() {
    let crawl = Fixture::new();
    crawl.write("a", b"x");
    crawl.database.rows("drop table crawl_files");
    assert!(!matches!(crawl.attempt(None, u32::MAX).ending, Ok(Ending::Done(_))));
}
