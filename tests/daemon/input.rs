//! Wrong input gets a clear error and loses nothing.

use std::fs;

use crate::harness::*;

on_both_stores! {
    async fn a_payload_that_is_no_json_or_does_not_fit_its_kind_is_refused_and_nothing_is_queued(w: Workshop) {
        w.configure(&(guest("echo", "") + &guest("slow", "scope = \"required\"")));
        w.queue().await.migrate().await.unwrap();
        for (payload, named) in [
            ("{", "not JSON"),
            ("", "not JSON"),
            (r#"{"message": 5}"#, "payload.message"),
            (r#"{}"#, "message"),
            (r#"[]"#, "object"),
            (r#"{"message": "\u0000"}"#, "NUL"),
            (r#"{"message": "\ud800"}"#, "surrogate"),
        ] {
            let said = w.run_refused(&["enqueue", "echo", "--payload", payload]);
            assert!(said.contains(named), "{payload}: {said}");
        }
        let said = w.run_refused(&["enqueue", "ecko"]);
        assert!(said.contains("no kind `ecko`") && said.contains("echo, slow"), "{said}");
        let said = w.run_refused(&["enqueue", "slow", "--payload", r#"{"steps": 1, "step_ms": 1}"#]);
        assert!(said.contains("--scope"), "{said}");
        assert_eq!(w.run_ok(&["list", "--json"]).trim(), "[]");
    }

    async fn an_unknown_id_is_told(w: Workshop) {
        w.configure(&guest("echo", ""));
        w.queue().await.migrate().await.unwrap();
        assert!(w.run_refused(&["show", "42"]).contains("no work item 42"));
        assert!(w.run_refused(&["cancel", "42"]).contains("no work item 42"));
    }

    async fn a_reader_that_has_seen_enough_is_no_fault_and_a_long_result_no_wide_table(w: Workshop) {
        w.configure(&guest("echo", ""));
        let daemon = w.serve();
        let payload = format!(r#"{{"message": "{}"}}"#, "x".repeat(100_000));
        let id = w.enqueue("echo", &["--payload", &payload]);
        w.until_finished(id).await;
        let listed = w.run_ok(&["list"]);
        assert!(listed.contains("xxx …") && listed.lines().all(|line| line.chars().count() < 300), "{listed}");
        let shown = w.run_closed(&["show", &id.to_string()]);
        assert!(shown.status.success() && shown.stderr.is_empty(), "{}", String::from_utf8_lossy(&shown.stderr));
        daemon.stop();
    }

    async fn limits_are_those_of_the_configuration(w: Workshop) {
        w.configure_with("[worker]\n[limits]\npayload = 40\nresult = 30\nlog_tail = \"2KiB\"\n", &guest("echo", ""));
        let daemon = w.serve();
        let said = w.run_refused(&["enqueue", "echo", "--payload", r#"{"message": "0123456789012345678901234567"}"#]);
        assert!(said.contains("payload: 43 bytes; the limit is 40"), "{said}");
        let id = w.enqueue("echo", &["--payload", r#"{"message": "01234567890123456"}"#]);
        assert_eq!(w.until_finished(id).await.error.as_deref(), Some("result larger than 30 bytes"));
        daemon.stop();
    }

    async fn the_same_dedup_key_answers_the_queued_item(w: Workshop) {
        w.configure(&guest("echo", ""));
        let arguments = ["--payload", r#"{"message": "x"}"#, "--dedup-key", "once"];
        assert_eq!(w.enqueue("echo", &arguments), w.enqueue("echo", &arguments));
    }
}

/// A configuration that is wrong in one place, and what must be told of it.
const WRONG: &[(&str, &[&str])] = &[
    ("[store\n", &["workhost.toml:1", "expected"]),
    ("[worker]\nslots = \"many\"\n", &["workhost.toml:2", "worker.slots", "expected u32"]),
    ("[worker]\nslotss = 2\n", &["workhost.toml:2", "slotss", "expected one of"]),
    ("[worker]\nlease = 60\n", &["workhost.toml:2", "worker.lease", "string"]),
    ("[worker]\nlease = \"soon\"\n", &["workhost.toml:2", "worker.lease", "\"24h\""]),
    ("[worker]\nlease = \"8s\"\n", &["workhost.toml:2", "worker.lease", "two heartbeats", "hint"]),
    ("[worker]\nslots = 0\nmax_stalls = 0\n", &["workhost.toml:2", "workhost.toml:3", "2 findings"]),
    ("[limits]\nresult = \"1GiB\"\n", &["workhost.toml:2", "limits.result", "16777216"]),
    ("[limits]\nerror = 10\nlog_tail = \"2MiB\"\n", &["limits.error", "limits.log_tail", "2 findings"]),
    (
        "[worker]\nhost = \"a-name-of-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-many-long\"\n",
        &["workhost.toml:2", "worker.host", "the limit is 256"],
    ),
    (
        "[kinds.a]\nevery = \"1h\"\nscope = \"required\"\nscopes = [\"\"]\n",
        &["workhost.toml:4", "kinds.a.scopes[0]", "it is empty"],
    ),
    ("[worker]\nlease = \"9999999999999999999s\"\n", &["worker.lease", "longer than a hundred years"]),
    ("[kinds.a]\ntimeout = \"1ns\"\n", &["kinds.a.timeout", "shorter than 10ms"]),
    ("[store]\nurl = \"mysql://x\"\n", &["workhost.toml:2", "store.url", "is no store"]),
    ("[[handlers]]\ncomponent = \"a.wasm\"\nmemory = 0\n", &["handlers[0].memory", "too few"]),
    ("[kinds.\"a.b\"]\ntimeout = \"0s\"\n", &["kinds.\"a.b\".timeout"]),
    ("[worker]\nslots = 1001\n", &["workhost.toml:2", "worker.slots", "1000"]),
    ("[kinds.a]\nevery = \"1h\"\nscope = \"required\"\n", &["workhost.toml:2", "kinds.a.every", "lists none"]),
    ("[kinds.a]\ncron = \"0 3 * *\"\n", &["workhost.toml:2", "kinds.a.cron", "not 5", "hint", "30 3 * * *"]),
    (
        "[kinds.a]\ncron = \"0 3 * * *\"\ntime_zone = \"Europe/Berln\"\n",
        &["workhost.toml:3", "kinds.a.time_zone", "did you mean `Europe/Berlin`?"],
    ),
    ("[kinds.a]\nscope = \"sometimes\"\n", &["workhost.toml:2", "kinds.a.scope", "required"]),
    ("[[handlers]]\nmemory = \"1GiB\"\n", &["workhost.toml:1", "handlers[0]", "component"]),
    (
        "[[handlers]]\ncomponent = \"a.wasm\"\nsql.x = { database = \"app\", statement = \"select 1\" }\n",
        &["workhost.toml:3", "no database `app`"],
    ),
    ("[admin]\nlisten = \"everywhere\"\n", &["workhost.toml:2", "admin.listen", "socket address"]),
    ("[store]\npooler = \"statement\"\n", &["workhost.toml:2", "store.pooler", "transaction"]),
    ("[store]\nurl = \"mysql://localhost/x\"\n", &["sqlite://", "postgres://"]),
];

#[tokio::test]
async fn a_malformed_configuration_names_file_line_key_and_what_was_expected() {
    let w = Workshop::new(Store::Sqlite).await;
    for (text, told) in WRONG {
        w.write("workhost.toml", text);
        let said = w.run_refused(&["serve"]);
        for told in *told {
            assert!(said.contains(told), "{text}: `{told}` is not told: {said}");
        }
    }
}

#[tokio::test]
async fn a_configuration_that_cannot_be_read_is_told_by_its_name() {
    let w = Workshop::new(Store::Sqlite).await;
    assert!(w.run_refused(&["serve"]).contains("workhost.toml"));
    w.write("workhost.toml", b"[store]\nurl = \"\xff\"\n");
    assert!(w.run_refused(&["serve"]).contains("not UTF-8"));
    fs::remove_file(w.path("workhost.toml")).unwrap();
    fs::create_dir(w.path("workhost.toml")).unwrap();
    assert!(w.run_refused(&["serve"]).contains("not a regular file"));
}

#[tokio::test]
async fn a_file_that_is_no_component_is_named_for_what_it_is() {
    let w = Workshop::new(Store::Sqlite).await;
    let whole = fs::read(component("guests/echo")).unwrap();
    w.write("echo.wasm", &whole);
    w.configure("[kinds.echo]\n[[handlers]]\ncomponent = \"echo.wasm\"\n");
    w.run_ok(&["validate"]);
    let core_module = b"\0asm\x01\0\0\0";
    let elf = fs::read("/proc/self/exe").unwrap();
    let mut cases: Vec<(Vec<u8>, &str)> = vec![
        (Vec::new(), "empty"),
        (core_module.to_vec(), "core module"),
        (elf[..4096].to_vec(), "ELF"),
        (b"(component)".to_vec(), "text format"),
        (b"#!/bin/sh\n".to_vec(), "something else, not a WebAssembly component"),
        (vec![0x5a; 5000], "something else, not a WebAssembly component"),
    ];
    for tenth in 1..10 {
        cases.push((whole[..whole.len() * tenth / 10].to_vec(), "truncated"));
    }
    for (bytes, named) in cases {
        w.write("echo.wasm", &bytes);
        let said = w.run_refused(&["serve"]);
        assert!(said.contains(named), "{} bytes, `{named}`: {said}", bytes.len());
        assert!(
            said.contains("workhost.toml:") && said.contains("handlers[0].component") && said.contains("echo.wasm"),
            "{said}"
        );
    }
    fs::remove_file(w.path("echo.wasm")).unwrap();
    assert!(w.run_refused(&["serve"]).contains("does not exist"));
    fs::create_dir(w.path("echo.wasm")).unwrap();
    assert!(w.run_refused(&["serve"]).contains("directory"));
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_told_with_the_reason() {
    let w = Workshop::new(Store::Sqlite).await;
    w.write("workhost.toml", "[store]\nurl = \"postgres://nobody@127.0.0.1:1/none\"\n");
    let said = w.run_refused(&["list"]);
    assert!(said.contains("the store is unavailable: ") && said.contains("refused"), "{said}");
}
