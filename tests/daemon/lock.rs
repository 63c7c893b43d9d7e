//! `workhost lock` writes down what the components are; `validate --locked` tells how they differ from that.

use std::fs;

use serde_json::{Value, json};
use workhost_queue::{Json, NewItem};

use crate::harness::*;

/// Two kinds, and the grants that their components may come to need.
const CONFIGURATION: &str = "[kinds.report]\n[kinds.walk]\n[[handlers]]\ncomponent = \"walk.wasm\"\n\
    [[handlers]]\ncomponent = \"report.wasm\"\nretention = { min_days = 1 }\n\
    [[handlers.dirs]]\nguest = \"/x\"\npath = \".\"\n";

const MEND: &str = "run `workhost lock` and commit the file";
const RETENTION: &str = "workhost:handler/retention@0.1.0";

fn address(more: Value) -> Value {
    let mut fields = json!({ "to": { "type": "string" } });
    fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "type": "object", "properties": fields })
}

/// A workshop with two components and their lock.
async fn locked(store: Store) -> Workshop {
    let w = Workshop::new(store).await;
    w.configure(CONFIGURATION);
    w.write("walk.wasm", text::describing("walk", &json!(true), &[]));
    w.write("report.wasm", text::describing("report", &address(json!({ "cc": true })), &[]));
    let said = w.run_ok(&["lock"]);
    assert!(said.contains("wrote ") && said.contains("workhost.lock: 2 handlers with 2 kinds"), "{said}");
    w
}

fn lock(w: &Workshop) -> String {
    fs::read_to_string(w.path("workhost.lock")).unwrap()
}

/// The findings of `validate --locked`, which must be some.
fn findings(w: &Workshop, arguments: &[&str]) -> Vec<Value> {
    let arguments = [&["validate", "--locked", "--format", "json"], arguments].concat();
    let said: Value = serde_json::from_str(&w.run_refused(&arguments)).unwrap();
    assert_eq!(said["valid"], false);
    said["findings"].as_array().unwrap().clone()
}

/// Without what is told of the registry itself.
fn of_the_lock(mut findings: Vec<Value>) -> Vec<Value> {
    findings.retain(|finding| finding["code"].as_str().unwrap().starts_with("lock-"));
    findings
}

fn texts<'f>(findings: &'f [Value], key: &str) -> Vec<&'f str> {
    findings.iter().map(|finding| finding[key].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_registry_matches_its_lock_until_a_component_changes_and_again_once_that_is_locked() {
    let w = locked(Store::Sqlite).await;
    assert!(w.run_ok(&["validate", "--locked"]).contains("is valid"));
    assert!(w.run_ok(&["validate", "--locked", "--offline"]).contains("is valid"));
    assert!(w.run_ok(&["lock"]).contains("workhost.lock is up to date"));

    w.write("report.wasm", text::describing("report", &json!({ "type": "object", "properties": {} }), &[RETENTION]));
    let found = findings(&w, &["--offline"]);
    let told = [
        "report now also asks for retention",
        "payload of report lost the field `cc`",
        "payload of report lost the field `to`",
    ];
    assert_eq!(texts(&found, "problem"), told);
    assert_eq!(texts(&found, "code"), ["lock-import-added", "lock-field-lost", "lock-field-lost"]);
    let keys = ["handlers.\"report.wasm\".imports", "handlers.\"report.wasm\".kinds.report.payload"];
    assert_eq!(texts(&found[..2], "key"), keys);
    for finding in &found {
        let (file, line) = (finding["file"].as_str().unwrap(), finding["line"].as_u64().unwrap());
        assert!(file.ends_with("workhost.lock") && finding["mend"].as_str().unwrap().contains(MEND), "{finding}");
        let words = lock(&w).lines().nth(line as usize - 1).unwrap().to_owned();
        assert!(words.starts_with("imports = [") || words.starts_with("payload = "), "{words}");
    }
    let said = w.run_refused(&["validate", "--locked", "--format", "github"]);
    assert!(said.starts_with("::error file=") && said.contains("workhost.lock,line="), "{said}");
    assert!(said.contains(",title=lock-import-added::") && said.contains("3 findings"), "{said}");

    // It is told to whoever locks it, too, and then it is as it should be.
    let said = w.run_ok(&["lock"]);
    assert!(told.iter().all(|told| said.contains(told)) && said.contains("wrote "), "{said}");
    w.run_ok(&["validate", "--locked"]);
    // The lock is looked at where that is asked for, and nowhere else.
    fs::remove_file(w.path("workhost.lock")).unwrap();
    w.run_ok(&["validate"]);
}

on_both_stores! {
    async fn queued_items_that_have_a_lost_field_are_counted(w: Workshop) {
        w.configure(CONFIGURATION);
        w.write("walk.wasm", text::describing("walk", &json!(true), &[]));
        w.write("report.wasm", text::describing("report", &address(json!({ "cc": true })), &[RETENTION]));
        w.run_ok(&["lock"]);
        w.write("report.wasm", text::describing("report", &json!({ "type": "object" }), &[RETENTION]));
        let queue = w.queue().await;
        queue.migrate().await.unwrap();
        let new = |kind: &str, payload: &str| NewItem::new(kind, Json::parse(payload).unwrap());
        let mut items: Vec<NewItem> = (0..12).map(|_| new("report", r#"{"to": "you"}"#)).collect();
        items.extend([new("report", "{}"), new("walk", r#"{"to": "you"}"#)]);
        queue.enqueue(&items).await.unwrap();
        for arguments in [&["--against-store"][..], &["--against-store", "--offline"]] {
            let found = findings(&w, arguments);
            let told = ["payload of report lost the field `cc`; no queued item has it",
                "payload of report lost the field `to`; 12 queued items have it"];
            assert_eq!(texts(&found, "problem"), told);
        }
    }
}

#[tokio::test]
async fn the_same_registry_has_the_same_lock_whatever_the_order_of_its_handlers() {
    let w = locked(Store::Sqlite).await;
    let before = lock(&w);
    let (head, rest) = CONFIGURATION.split_once("[[handlers]]\n").unwrap();
    let (walk, report) = rest.split_once("[[handlers]]\n").unwrap();
    w.configure(&format!("{head}[[handlers]]\n{report}[[handlers]]\n{walk}"));
    w.run_ok(&["validate", "--locked"]);
    fs::remove_file(w.path("workhost.lock")).unwrap();
    w.run_ok(&["lock"]);
    assert_eq!(lock(&w), before);
}

#[tokio::test]
async fn a_lock_that_is_of_no_use_is_a_finding_of_its_own_and_is_written_anew() {
    let w = locked(Store::Sqlite).await;
    let whole = lock(&w);
    let edited = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}: {whole}");
        whole.replacen(from, to, 1)
    };
    for (text, code, told) in [
        (edited("version = 1", "version = 7"), "lock-version", "version 7; this workhost knows version 1"),
        (edited("\"sha256:", "\"sha256:x"), "lock-malformed", "is no digest: expected `sha256:` and 64 hexadecimal"),
        (edited("contract = ", "contrast = "), "lock-malformed", "unknown field `contrast`"),
        (edited("payload = '''\n{", "payload = '''\n"), "lock-malformed", "expected a JSON Schema"),
        (edited("version = 1", "<<<<<<< HEAD"), "lock-malformed", ""),
        (edited("walk", "\u{202e}"), "lock-malformed", ""),
        (String::new(), "lock-malformed", "missing field `version`"),
    ] {
        w.write("workhost.lock", &text);
        let found = of_the_lock(findings(&w, &[]));
        assert_eq!(texts(&found, "code"), [code], "{found:?}");
        assert!(found[0]["problem"].as_str().unwrap().contains(told), "{told}: {found:?}");
        assert!(found[0]["mend"].as_str().unwrap().contains(MEND) && found[0]["line"].is_u64(), "{found:?}");
        let said = w.run_ok(&["lock"]);
        assert!(said.contains("the lock before cannot be compared: ") && said.contains("wrote "), "{said}");
        assert_eq!(lock(&w), whole);
    }
    fs::remove_file(w.path("workhost.lock")).unwrap();
    let found = of_the_lock(findings(&w, &[]));
    assert_eq!((texts(&found, "code"), texts(&found, "mend")), (vec!["lock-missing"], vec![MEND]));
    fs::create_dir(w.path("workhost.lock")).unwrap();
    let said = w.run_to(2, &["validate", "--locked"]);
    assert!(said.contains("could not be checked: is not a regular file [lock-unreadable]"), "{said}");
}

#[tokio::test]
async fn a_lock_is_told_of_beside_what_is_wrong_with_the_registry_and_compared_once_that_is_mended() {
    let w = locked(Store::Sqlite).await;
    w.write("report.wasm", text::describing("other", &json!(true), &[RETENTION]));
    let said = w.run_refused(&["validate", "--locked", "--against-store"]);
    assert!(said.contains("kind-undeclared") && !said.contains("[lock-"), "{said}");
    let left_out = "2 findings; once the registry is valid, it is compared with its lock, and the store is looked at";
    assert!(said.contains(left_out), "{said}");
    let before = lock(&w);
    let said = w.run_refused(&["lock"]);
    assert!(said.contains("kind-undeclared") && said.contains("2 findings"), "{said}");
    assert_eq!(lock(&w), before, "nothing is written of a registry that is not valid");
    fs::remove_file(w.path("workhost.lock")).unwrap();
    let said = w.run_refused(&["validate", "--locked"]);
    assert!(
        said.contains("kind-undeclared") && said.contains("[lock-missing]") && said.contains("3 findings"),
        "{said}"
    );
}

#[tokio::test]
async fn a_lock_needs_no_database() {
    let w = Workshop::new(Store::Sqlite).await;
    w.write(
        "nowhere.toml",
        format!(
            "[store]\nurl = \"postgres://nobody@127.0.0.1:1/none\"\n[databases.app]\nurl = \"postgres://nobody@127.0.0.1:1/none\"\n\
             [kinds.token-cleanup]\n[[handlers]]\ncomponent = {:?}\n[handlers.sql.delete-expired-tokens]\ndatabase = \"app\"\n\
             statement = \"delete from tokens\"\n",
            component("token-cleanup")
        ),
    );
    let config = w.path("nowhere.toml");
    let said = w.run_ok(&["lock", "--config", config.to_str().unwrap()]);
    assert!(said.contains("nowhere.lock: 1 handler with 1 kind"), "{said}");
    let text = fs::read_to_string(w.path("nowhere.lock")).unwrap();
    assert!(text.contains("\"workhost:handler/sql@0.1.0\"") && text.contains("contract = \"0.1.0\""), "{text}");
    w.run_ok(&["validate", "--locked", "--offline", "--config", config.to_str().unwrap()]);
}

#[tokio::test]
async fn what_cannot_be_written_is_told_by_name_with_cause_and_mend_and_nothing_is_left() {
    let w = locked(Store::Sqlite).await;
    fs::write(w.path("workhost.lock"), "[[package]]\nname = \"somebody else's\"\n").unwrap();
    let said = w.run_refused(&["lock"]);
    assert!(said.contains("workhost.lock: is there, and no lock of workhost") && said.contains("hint: "), "{said}");
    assert!(said.contains("[lock-unwritable]") && lock(&w).contains("somebody else's"), "{said}");
    fs::remove_file(w.path("workhost.lock")).unwrap();
    fs::create_dir(w.path("workhost.lock")).unwrap();
    let said = w.run_refused(&["lock"]);
    assert!(said.contains("workhost.lock: cannot be written: ") && said.contains("directory"), "{said}");
    let left: Vec<_> = fs::read_dir(w.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("new-")), "{left:?}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_keeps_the_lock_that_it_has() {
    let w = locked(Store::Sqlite).await;
    let before = lock(&w);
    w.write("walk.wasm", text::describing("walk", &json!({}), &[]));
    let folder = w.path("").display().to_string();
    let mount = format!("mount --bind '{folder}' '{folder}' && mount -o remount,bind,ro '{folder}'");
    let Some(read_only) = Mounted::new(&mount) else { return };
    let output = read_only.run(&w, &["lock"], "true");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("workhost.lock: cannot be written: Read-only file system"), "{said}");
    assert!(said.contains("hint: make its folder writable") && lock(&w) == before, "{said}");
}

#[tokio::test]
async fn what_a_component_says_of_itself_cannot_speak_to_a_terminal_or_to_ci_by_way_of_its_lock() {
    let w = locked(Store::Sqlite).await;
    let hostile = "\u{1b}[31m\n::error::pwn\u{202e}'''\n[handlers.x]";
    let schema = json!({ "properties": { hostile: { "type": "string", "pattern": hostile } } });
    w.write("walk.wasm", text::describing("walk", &schema, &[]));
    let mut said = vec![
        w.run_refused(&["validate", "--locked"]),
        w.run_refused(&["validate", "--locked", "--format", "github"]),
        w.run_ok(&["lock"]),
        lock(&w),
    ];
    w.run_ok(&["validate", "--locked"]);
    w.write("walk.wasm", text::describing("walk", &json!({ "properties": {} }), &[]));
    said.extend([w.run_refused(&["validate", "--locked", "--format", "github"]), w.run_ok(&["lock"])]);
    for said in said {
        let obeyed = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(
            !said.contains(obeyed) && !said.contains("\n::error::pwn") && !said.contains("\n[handlers.x]"),
            "{said:?}"
        );
    }
}

#[tokio::test]
async fn help_shows_examples() {
    let w = Workshop::new(Store::Sqlite).await;
    for (command, example) in [("lock", "workhost lock "), ("validate", "workhost validate --locked ")] {
        assert!(w.run_ok(&[command, "--help"]).contains(&format!("\n  {example}")), "{command}");
    }
}
