//! `dirs`: what a handler can reach of the host's files, and every way out that it may try.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use workhost_queue::Status;

use crate::harness::*;

/// A handler that sees `scopes/{scope}` read-only at `/mine`, and `out` read-write at `/out`.
fn paths(w: &Workshop) -> String {
    for folder in ["scopes/a/deep", "scopes/b", "out", "secret"] {
        fs::create_dir_all(w.path(folder)).unwrap();
    }
    w.write("scopes/a/file", "a's own");
    w.write("scopes/b/file", "b's own");
    w.write("secret/file", "nobody's");
    format!(
        "[kinds.paths]\ntimeout = \"10s\"\n[[handlers]]\ncomponent = {:?}\n\
         [[handlers.dirs]]\nguest = \"/mine\"\npath = \"scopes/{{scope}}\"\n\
         [[handlers.dirs]]\nguest = \"/out\"\npath = \"out\"\nmode = \"read-write\"\n",
        component("guests/paths")
    )
}

async fn tried(w: &Workshop, scope: &str, payload: Value) -> String {
    let id = w.enqueue("paths", &["--scope", scope, "--payload", &payload.to_string()]);
    let item = w.until_finished(id).await;
    match item.status {
        Status::Succeeded => result(&item).as_str().unwrap().to_owned(),
        _ => format!("failed: {}", item.error.unwrap()),
    }
}

#[tokio::test]
async fn a_handler_reads_its_own_scopes_folder_and_writes_where_it_may() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&paths(&w));
    let daemon = w.serve();
    for (scope, payload, answer) in [
        ("a", json!({ "read": "/mine/file" }), "a's own"),
        ("b", json!({ "read": "/mine/file" }), "b's own"),
        ("a", json!({ "read": "/mine//deep/.././file" }), "a's own"),
        ("a", json!({ "list": "/mine/" }), "deep file"),
        ("a", json!({ "write": "/out/new" }), "written"),
    ] {
        assert_eq!(tried(&w, scope, payload).await, answer);
    }
    assert_eq!(fs::read_to_string(w.path("out/new")).unwrap(), "written");
    daemon.stop();
}

#[tokio::test]
async fn no_path_leads_out_of_a_granted_folder_and_what_is_read_only_stays() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&paths(&w));
    // What somebody else has put into the folders.
    symlink(w.path("secret"), w.path("scopes/a/absolute")).unwrap();
    symlink("../../secret", w.path("scopes/a/relative")).unwrap();
    symlink("../b/file", w.path("scopes/a/neighbour")).unwrap();
    symlink("loop", w.path("scopes/a/loop")).unwrap();
    let daemon = w.serve();
    for path in [
        "/secret/file",
        "/mine/../b/file",
        "/mine/../../secret/file",
        "/mine/deep/../../b/file",
        "/mine/absolute/file",
        "/mine/relative/file",
        "/mine/neighbour",
        "/mine/loop",
        "../b/file",
        "/etc/passwd",
        "/proc/self/environ",
        "/mine/file/",
        "/mine/file/../file",
        "",
        "/",
    ] {
        let answer = tried(&w, "a", json!({ "read": path })).await;
        assert!(answer.starts_with("error: "), "{path}: {answer}");
    }
    for payload in [
        json!({ "write": "/mine/file" }),
        json!({ "write": "/mine/new" }),
        json!({ "write": "/out/../scopes/a/new" }),
        json!({ "link": ["/mine/link", "file"] }),
        json!({ "link": ["/out/link", "/etc"] }),
    ] {
        let answer = tried(&w, "a", payload.clone()).await;
        assert!(answer.starts_with("error: "), "{payload}: {answer}");
    }
    // A link of its own that leads out may be made, and leads nowhere.
    let made = tried(&w, "a", json!({ "link": ["/out/link", "../secret"] })).await;
    let through = tried(&w, "a", json!({ "read": "/out/link/file" })).await;
    assert!(through.starts_with("error: "), "{made}: {through}");
    assert_eq!(fs::read_to_string(w.path("scopes/a/file")).unwrap(), "a's own");
    assert!(!w.path("scopes/a/new").exists());
    daemon.stop();
}

#[tokio::test]
async fn a_scope_that_is_no_plain_name_of_a_folder_fails_for_good_before_the_handler_starts() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&paths(&w));
    let daemon = w.serve();
    for scope in ["..", ".", "a/../b", "/secret", "a/", "a\\b"] {
        let answer = tried(&w, scope, json!({ "read": "/mine/file" })).await;
        assert!(answer.contains("scope is no plain name of a folder"), "{scope}: {answer}");
    }
    let missing = tried(&w, "c", json!({ "read": "/mine/file" })).await;
    assert!(missing.contains("scopes/c cannot be opened"), "{missing}");
    daemon.stop();
}

#[tokio::test]
async fn a_fifo_in_a_granted_folder_is_not_opened_however_often_it_is_tried() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&(paths(&w).replace("timeout = \"10s\"", "timeout = \"1s\"") + &guest("echo", "")));
    assert!(std::process::Command::new("mkfifo").arg(w.path("scopes/a/fifo")).status().unwrap().success());
    let daemon = w.serve();
    let threads = || std::fs::read_dir(format!("/proc/{}/task", daemon.pid())).unwrap().count();
    tried(&w, "a", json!({ "read": "/mine/file" })).await;
    let before = threads();
    for _ in 0..20 {
        let told = tried(&w, "a", json!({ "read": "/mine/fifo" })).await;
        assert!(told.starts_with("error: "), "{told}");
    }
    assert!(threads() < before + 10, "{before} threads became {}", threads());
    let echo = w.enqueue("echo", &["--payload", r#"{"message": "x"}"#]);
    assert_eq!(w.until_finished(echo).await.status, Status::Succeeded);
    daemon.stop();
}

#[tokio::test]
async fn a_folder_that_is_missing_or_granted_both_ways_is_found_before_the_start() {
    let w = Workshop::new(Store::Sqlite).await;
    let settings = paths(&w);
    w.configure(&settings.replace("path = \"out\"", "path = \"none\""));
    let said = w.run_refused(&["validate"]);
    assert!(said.contains("folder-refused") && said.contains("handlers[0].dirs") && said.contains("none"), "{said}");
    w.configure(&settings.replace("path = \"out\"", "path = \"scopes\""));
    let said = w.run_refused(&["validate"]);
    assert!(said.contains("is granted read-only, and") && said.contains("side by side"), "{said}");
}
