//! The crawl over what real folders hold. What a sandbox alone shows is tested here; the rest beside the
//! handler.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};

use crate::handlers::crawl;
use crate::harness::*;

/// Crawls a scope to the end.
async fn crawled(w: &Workshop, scope: &str) -> Value {
    result(&w.until_finished(w.enqueue("crawl", &["--scope", scope])).await)
}

async fn paths(w: &Workshop, scope: &str) -> Vec<String> {
    w.app.texts(&format!("select path from crawled_files where scope = '{scope}' order by path")).await
}

on_both_stores! {
    async fn a_crawl_records_what_is_there_and_forgets_what_is_gone(w: Workshop) {
        w.write("files/a/stays", "hello");
        w.write("files/a/gone/deep/er", "x");
        w.write("files/b/other", "x");
        w.configure(&crawl(&w).await);
        let daemon = w.serve();
        assert_eq!(crawled(&w, "a").await["files"], 2);
        assert_eq!(crawled(&w, "b").await["files"], 1);

        fs::remove_dir_all(w.path("files/a/gone")).unwrap();
        w.write("files/a/stays", "changed");
        let summary = crawled(&w, "a").await;
        assert_eq!((&summary["files"], &summary["removed"]), (&json!(1), &json!(1)));
        assert_eq!(paths(&w, "a").await, ["stays"]);
        assert_eq!(paths(&w, "b").await, ["other"]);
        let hash = w.app.texts("select sha256 from crawl_files where name = 'stays'").await;
        assert_eq!(hash, ["d67e2e944994496c8d8ec76eed0cf9f09679448d584b532bebf941852a37f5ed"]);
        daemon.stop();
    }

    async fn a_name_that_is_not_utf8_costs_neither_the_crawl_nor_a_row(w: Workshop) {
        w.write("files/a/f/first", "x");
        w.write("files/a/f/gone", "x");
        w.configure(&crawl(&w).await);
        let daemon = w.serve();
        crawled(&w, "a").await;

        fs::remove_file(w.path("files/a/f/gone")).unwrap();
        w.write("files/a/f/last", "x");
        w.write(&format!("files/a/f/{}", "l".repeat(255)), "x");
        w.write("files/a/f/new\nline", "x");
        fs::write(w.path("files/a/f").join(OsStr::from_bytes(b"k\xff")), "x").unwrap();
        let summary = crawled(&w, "a").await;
        assert_eq!((&summary["nameless"], &summary["files"], &summary["removed"]), (&json!(1), &json!(4), &json!(0)));
        let expected = ["f/first".to_owned(), "f/gone".into(), "f/last".into(), format!("f/{}", "l".repeat(255)), "f/new\nline".into()];
        assert_eq!(paths(&w, "a").await, expected);
        daemon.stop();
    }

    async fn links_and_special_files_are_counted_and_never_followed_or_opened(w: Workshop) {
        w.write("files/a/f/file", "x");
        w.write("files/b/secret", "x");
        for (link, target) in [
            ("in", "file"), ("out", "/etc/passwd"), ("scope", "../../b"), ("up", ".."), ("loop", "loop"), ("nowhere", "nothing"),
        ] {
            symlink(target, w.path("files/a/f").join(link)).unwrap();
        }
        let fifo = Command::new("mkfifo").arg(w.path("files/a/f/fifo")).status().unwrap();
        assert!(fifo.success());
        w.configure(&crawl(&w).await);
        let daemon = w.serve();
        let summary = crawled(&w, "a").await;
        assert_eq!(summary["links"], json!({ "inside": 1, "outside": 2, "circular": 2, "dangling": 1, "unknown": 0 }));
        assert_eq!(summary["skipped"], 1);
        assert_eq!(paths(&w, "a").await, ["f/file"]);
        daemon.stop();
    }

    async fn a_path_longer_than_the_system_opens_at_once_is_still_read(w: Workshop) {
        let names = vec!["d".repeat(200); 15].join("/");
        w.write(&format!("lower/{names}/file"), "deep");
        fs::create_dir_all(w.path("files/a").join(&names)).unwrap();
        // Two halves, as no single call takes the whole path.
        fs::rename(w.path("lower"), w.path("files/a").join(&names).join("lower")).unwrap();
        w.configure(&crawl(&w).await);
        let daemon = w.serve();
        let summary = crawled(&w, "a").await;
        assert_eq!((&summary["files"], &summary["folders"], &summary["unreadable"]), (&json!(1), &json!(32), &json!(0)));
        assert_eq!(paths(&w, "a").await, [format!("{names}/lower/{names}/file")]);
        daemon.stop();
    }

    async fn a_scope_without_a_folder_fails_and_forgets_nothing(w: Workshop) {
        w.write("files/a/file", "x");
        w.configure(&crawl(&w).await);
        let daemon = w.serve();
        crawled(&w, "a").await;
        fs::remove_dir_all(w.path("files/a")).unwrap();
        let item = w.until_finished(w.enqueue("crawl", &["--scope", "a"])).await;
        assert_eq!(item.status, workhost_queue::Status::Failed);
        assert_eq!(paths(&w, "a").await, ["file"]);
        daemon.stop();
    }
}
