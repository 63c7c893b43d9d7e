//! What `workhost validate` and `workhost inspect` tell of a registry before anything starts.

use serde_json::Value;
use workhost_queue::{Json, NewItem};

use crate::harness::*;

/// The token cleanup with this statement, and more grants.
fn cleanup(statement: &str, more: &str) -> String {
    format!(
        "[kinds.token-cleanup]\n[[handlers]]\ncomponent = {:?}\n[handlers.sql.delete-expired-tokens]\n\
         database = \"app\"\nstatement = {statement:?}\n{more}",
        component("token-cleanup")
    )
}

on_both_stores! {
    async fn a_grant_that_nothing_uses_is_a_warning_and_a_finding_where_that_is_asked_for(w: Workshop) {
        w.configure(&(guest("echo", "") + "[handlers.retention]\nmin_days = 7\n"));
        let said = w.run_ok(&["validate"]);
        assert!(said.contains("handlers[0].retention: warning: ") && said.contains("[grant-unused]"), "{said}");
        assert!(said.contains("is valid: 1 kind, each with exactly one handler, 1 warning"), "{said}");
        assert!(w.run_to(1, &["validate", "--strict"]).contains("1 finding"));
        let daemon = w.serve();
        daemon.stop();
        assert!(w.log().contains("grant-unused"), "{}", w.log());
    }

    async fn what_cannot_be_checked_is_neither_right_nor_wrong(w: Workshop) {
        w.configure(&cleanup("delete from sessions where expires_at < $1", ""));
        let config = std::fs::read_to_string(w.path("workhost.toml")).unwrap();
        let nowhere = config.replace(&format!("[databases.app]\nurl = {:?}", w.app.url), "[databases.app]\nurl = \"postgres://nobody@127.0.0.1:1/none\"");
        assert_ne!(nowhere, config);
        w.write("workhost.toml", nowhere);
        let said = w.run_to(2, &["validate"]);
        assert!(said.contains("could not be checked") && said.contains("[database-unreachable]"), "{said}");
        let said = w.run_ok(&["validate", "--offline"]);
        assert!(said.contains("is valid: 1 kind") && said.contains("offline: no statement was prepared"), "{said}");
        assert!(w.run_to(2, &["validate", "--config", "nowhere.toml"]).contains("could not be checked"));
    }

    async fn offline_all_is_checked_that_needs_no_database(w: Workshop) {
        let second = "[handlers.sql.second]\ndatabase = \"app\"\nstatement = \"vacuum\"\n";
        let dirs = "[[handlers.dirs]]\nguest = \"/x\"\npath = \"no-such-folder\"\n";
        w.configure(&cleanup("drop table sessions", &format!("{second}{dirs}")));
        let said = w.run_refused(&["validate", "--offline"]);
        assert!(said.contains("delete-expired-tokens") && said.contains("`drop`") && said.contains("`vacuum`"), "{said}");
        assert!(said.contains("no-such-folder") && said.contains("3 findings"), "{said}");
        w.configure(&(cleanup("delete from sessions", "[handlers.retention]\nmin_days = 1\n") + "[kinds.orphan]\n"));
        let said = w.run_refused(&["validate", "--offline"]);
        assert!(said.contains("kind-without-handler") && said.contains("grant-unused"), "{said}");
    }

    async fn findings_come_as_json_and_as_annotations(w: Workshop) {
        w.configure("[kinds.orphan]\n");
        let said: Value = serde_json::from_str(&w.run_refused(&["validate", "--format", "json"])).unwrap();
        assert_eq!((&said["valid"], said["findings"].as_array().unwrap().len()), (&Value::Bool(false), 1));
        let finding = &said["findings"][0];
        assert_eq!((finding["severity"].as_str(), finding["key"].as_str()), (Some("error"), Some("kinds.orphan")));
        let said = w.run_refused(&["validate", "--format", "github"]);
        assert!(said.starts_with("::error file=") && said.contains(",title=kind-without-handler::"), "{said}");
    }

    async fn items_that_a_new_registry_would_strand_are_counted_by_kind_and_reason(w: Workshop) {
        w.configure(&(guest("echo", "") + &guest("slow", "")));
        let queue = w.queue().await;
        queue.migrate().await.unwrap();
        let new = |kind: &str, payload: &str| NewItem::new(kind, Json::parse(payload).unwrap());
        let steps = r#"{"steps": 1, "step_ms": 1}"#;
        let mut items: Vec<NewItem> = (0..7).map(|_| new("gone", "{}")).collect();
        items.extend([new("echo", r#"{"message": "right"}"#), new("echo", r#"{"message": 5}"#), new("slow", steps)]);
        queue.enqueue(&items).await.unwrap();
        let said = w.run_to(1, &["validate", "--against-store"]);
        assert!(said.contains("7 queued items of kind `gone`") && said.contains("[queued-without-handler]"), "{said}");
        assert!(said.contains("id 7, 6, 5, 4, 3, …"), "{said}");
        assert!(said.contains("1 queued item of kind `echo`") && said.contains("id 9: payload.message"), "{said}");
        assert!(!said.contains("kind `slow`") && said.contains("2 findings"), "{said}");
        w.configure(&(guest("echo", "") + &guest("slow", "scope = \"required\"")));
        let said = w.run_to(1, &["validate", "--against-store", "--offline"]);
        assert!(said.contains("1 queued item of kind `slow`") && said.contains("[queued-without-scope]"), "{said}");
        let counted: u64 = queue.counts().await.unwrap().iter().map(|count| count.count).sum();
        assert_eq!(counted, 10, "it changes nothing");
    }
}

#[tokio::test]
async fn a_schema_whose_check_has_no_bound_is_a_finding() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&guest("doubling", "every = \"1h\""));
    for command in ["validate", "serve"] {
        let said = w.run_refused(&[command]);
        assert!(said.contains("its parts apply each other more than 10000 times [schema-invalid]"), "{said}");
    }
}

#[tokio::test]
async fn what_a_component_or_an_item_is_called_cannot_speak_to_a_terminal_or_to_ci() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&guest("echo", ""));
    let queue = w.queue().await;
    queue.migrate().await.unwrap();
    let hostile = NewItem::new("x\u{202e}::error::pwn", Json::parse("{}").unwrap());
    queue.enqueue(&[hostile]).await.unwrap();
    let payload = "{\"message\": \"a\", \"\\u001b[31m\\n::error::pwn\\u202e\": 1}";
    let component =
        w.write("odd.wasm", wat::parse_str("(component (import \"url=<x\\1b[31m\\0a::error::pwn>\" (func)))").unwrap());
    let said = [
        w.run_to(1, &["validate", "--against-store"]),
        w.run_to(1, &["validate", "--against-store", "--format", "github"]),
        w.run_refused(&["enqueue", "echo", "--payload", payload]),
        w.run_refused(&["inspect", component.to_str().unwrap()]),
    ];
    for said in said {
        let obeyed = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!said.contains(obeyed) && !said.contains("\n::error::pwn"), "{said:?}");
    }
}

#[tokio::test]
async fn a_finding_stays_one_when_nobody_reads_it() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure("[kinds.orphan]\n");
    assert_eq!(w.run_closed(&["validate"]).status.code(), Some(1));
}

#[tokio::test]
async fn what_needs_no_database_is_told_beside_one_that_does_not_answer() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&cleanup("drop table sessions", "").replace("database = \"app\"", "database = \"gone\""));
    let config = std::fs::read_to_string(w.path("workhost.toml")).unwrap();
    w.write("workhost.toml", config + "[databases.gone]\nurl = \"sqlite://no-such-file.db\"\n");
    let said = w.run_refused(&["validate"]);
    assert!(said.contains("database-unreachable") && said.contains("`drop`") && said.contains("2 findings"), "{said}");
}

#[tokio::test]
async fn a_store_that_is_not_there_is_not_made_by_looking() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&guest("echo", ""));
    let said = w.run_to(2, &["validate", "--against-store"]);
    assert!(said.contains("there is no store at") && said.contains("[store-unreachable]"), "{said}");
    for command in [&["list"][..], &["show", "1"], &["cancel", "1"]] {
        assert!(w.run_refused(command).contains("there is no store at"));
    }
    assert!(!w.path("store.db").exists());
}

#[tokio::test]
async fn a_component_says_what_it_is_and_what_it_needs() {
    let w = Workshop::new(Store::Sqlite).await;
    let said = w.run_ok(&["inspect", &component("token-cleanup")]);
    for part in
        ["token-cleanup: ", "payload: {", "sha256:", "workhost:handler 0.1.0", "grant    workhost:handler/sql@0.1.0"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let (_, toml) = said.split_once("to paste into workhost.toml\n").unwrap();
    assert!(toml.contains("[kinds.token-cleanup]") && toml.contains("[handlers.sql.NAME]"), "{toml}");
    // What is there to paste is a configuration, but for the database that only its operator knows.
    w.write("workhost.toml", toml);
    let said = w.run_refused(&["validate"]);
    assert!(said.contains("handlers[0].sql.NAME.database") && said.contains("1 finding"), "{said}");
    let json: Value = serde_json::from_str(&w.run_ok(&["inspect", &component("guests/echo"), "--json"])).unwrap();
    assert_eq!(json["kinds"][0]["kind"], "echo");
    assert!(json["bytes"].as_u64().unwrap() > 1000);
    let text = w.write("no.wasm", "(module)");
    let said = w.run_refused(&["inspect", text.to_str().unwrap()]);
    assert!(said.contains("WebAssembly in text format") && said.contains("hint: "), "{said}");
    let json: Value = serde_json::from_str(&w.run_refused(&["inspect", text.to_str().unwrap(), "--json"])).unwrap();
    assert_eq!(json["code"], "not-a-component");
}
