//! Attempts that stop, and later ones that go on.

use workhost_sdk::Ending;

use super::fixture::{Fixture, png};

fn tree() -> Fixture {
    let mut crawl = Fixture::new();
    for file in ["a", "b", "m/a", "m/b", "m/m/a", "m/m/b", "m/n/a", "m n/a", "m/shut/file", "z/z/z/z"] {
        crawl.write(file, b"some content");
    }
    crawl.write("m/picture.png", &png(3, 2));
    std::os::unix::fs::symlink("nowhere", crawl.path("m/link")).unwrap();
    crawl.broken = vec!["m/shut".to_owned(), "m/n/a".to_owned()];
    crawl
}

#[test]
fn a_crawl_stopped_at_any_point_goes_on_and_does_no_file_twice() {
    let whole = tree().run();
    assert_eq!(whole["unreadable"], 2);
    for patience in 0.. {
        let crawl = tree();
        crawl.write("goes", b"x");
        crawl.run();
        crawl.remove("goes");

        let first = crawl.attempt(None, patience);
        if matches!(first.ending, Ok(Ending::Done(_))) {
            assert!(patience > 20, "the crawl asks too seldom whether to stop");
            break;
        }
        assert!(matches!(first.ending, Ok(Ending::Stopped(_))), "{:?}", first.ending);
        let second = crawl.attempt(first.progress.last(), u32::MAX);
        let Ok(Ending::Done(summary)) = second.ending else { panic!("{:?}", second.ending) };

        assert_eq!(whole["unreadable"], 2);
        let mut expected = whole.clone();
        expected["removed"] = 1.into();
        assert_eq!(summary, expected, "stopped after {patience} steps");
        assert_eq!(crawl.paths(), tree_paths(), "stopped after {patience} steps");
        let marks = crawl.database.rows("select count(distinct crawl) from crawl_files");
        assert_eq!(marks, [[1_i64.into()]], "both attempts are one crawl");
    }
}

#[test]
fn an_attempt_in_single_steps_comes_to_the_end() {
    let crawl = tree();
    let mut progress = None;
    let mut attempts = 0;
    loop {
        attempts += 1;
        // Enough to get to the cursor and one file further.
        let ran = crawl.attempt(progress.as_ref(), 12);
        progress = ran.progress.last().cloned();
        if matches!(ran.ending, Ok(Ending::Done(_))) {
            break;
        }
        assert!(attempts < 30, "the crawl does not get on: {progress:?}");
    }
    assert!(attempts > 2);
    assert_eq!(crawl.paths(), tree_paths());
}

#[test]
fn an_unreadable_file_before_the_cursor_still_keeps_its_folders_rows() {
    let mut crawl = Fixture::new();
    for file in ["a", "b", "c"] {
        crawl.write(file, b"x");
    }
    crawl.run();
    crawl.remove("b");
    crawl.broken = vec!["a".to_owned()];
    // The attempt passes `a`, and is asked to stop at `c`.
    let first = crawl.attempt(None, 1);
    let progress = first.progress.last().unwrap();
    assert_eq!(progress["cursor"]["file"], "a");

    let second = crawl.attempt(Some(progress), u32::MAX);
    assert!(matches!(second.ending, Ok(Ending::Done(summary)) if summary["removed"] == 0));
    assert_eq!(crawl.paths(), ["a", "b", "c"]);
}

#[test]
fn progress_of_another_shape_starts_a_fresh_crawl() {
    let crawl = tree();
    let ran = crawl.attempt(Some(&serde_json::json!({ "cursor": 7 })), u32::MAX);
    assert!(matches!(ran.ending, Ok(Ending::Done(_))));
    assert_eq!(crawl.paths(), tree_paths());
}

/// What can be read of the tree.
fn tree_paths() -> [&'static str; 9] {
    ["a", "b", "m n/a", "m/a", "m/b", "m/m/a", "m/m/b", "m/picture.png", "z/z/z/z"]
}
