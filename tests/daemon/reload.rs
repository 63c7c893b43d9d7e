//! A new registry while the daemon runs: taken in whole, or not at all.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use workhost_queue::{Filter, Json, NewItem, Status};

use crate::harness::*;

/// The same component with another digest: one more section that nobody reads.
fn rebuilt(component: &str, mark: u8) -> Vec<u8> {
    let mut bytes = std::fs::read(component).unwrap();
    bytes.extend([0, 3, 1, b'm', mark]);
    bytes
}

fn slow_from(component: &Path, settings: &str) -> String {
    format!("[kinds.slow]\n{settings}\n[[handlers]]\ncomponent = {component:?}\n")
}

/// Waits until all of a hundred items are so.
async fn until_all_are(w: &Workshop, so: &str) {
    let start = Instant::now();
    while w.count(&format!("select count(*) from work_items where {so}")).await < 100 {
        assert!(start.elapsed() < PATIENCE, "not all are: {so}\n{}", w.log());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

on_both_stores! {
    async fn a_new_kind_runs_after_a_reload_and_one_that_is_gone_is_left_alone(w: Workshop) {
        w.configure(&guest("echo", ""));
        let daemon = w.serve();
        w.configure(&guest("slow", ""));
        let reloaded: Value = serde_json::from_str(&w.run_ok(&["reload", "--json"])).unwrap();
        assert_eq!((&reloaded["valid"], &reloaded["kinds"]), (&json!(true), &json!(["slow"])));
        let slow = w.enqueue("slow", &["--payload", r#"{"steps": 1, "step_ms": 1}"#]);
        let echo = NewItem::new("echo", Json::parse(r#"{"message": "x"}"#).unwrap());
        let echo = w.queue().await.enqueue(&[echo]).await.unwrap()[0].id();
        w.until_finished(slow).await;
        assert_eq!(w.item(echo).await.status, Status::Queued);
        w.configure(&(guest("slow", "") + &guest("echo", "")));
        daemon.signal("HUP");
        assert_eq!(w.until_finished(echo).await.status, Status::Succeeded);
        assert!(w.log().contains("added=[\"echo\"] gone=[] rebuilt=[]"), "{}", w.log());
        let audit = w.queue().await.audit_log(&workhost_queue::AuditPage::default()).await.unwrap();
        let actors: Vec<_> = audit.iter().map(|entry| (entry.action.as_str(), entry.actor.as_deref().unwrap())).collect();
        assert_eq!(actors, [("reload", "SIGHUP"), ("reload", "workhost reload")]);
        daemon.stop();
    }

    async fn a_registry_that_is_not_valid_is_not_taken_in_and_the_reason_told(w: Workshop) {
        w.configure(&guest("echo", ""));
        let daemon = w.serve();
        for (broken, words) in [
            (format!("{}[kinds.nobody]\n", guest("echo", "")), "kind-without-handler"),
            (guest("echo", "every = \"soon\""), "kinds.echo.every"),
            ("[[handlers]]\ncomponent = \"none.wasm\"\n".to_owned(), "component-missing"),
            ("kinds = 7".to_owned(), "config-malformed"),
        ] {
            w.configure(&broken);
            let said = w.run_refused(&["reload"]);
            assert!(said.contains(words) && said.contains("not reloaded"), "{said}");
            let before = w.log().matches("the old one stays").count();
            daemon.signal("HUP");
            w.until_logged("workhost", "the old one stays", before).await;
            assert!(w.log().contains(words), "{}", w.log());
        }
        w.configure(&guest("echo", ""));
        let id = w.enqueue("echo", &["--payload", r#"{"message": "still here"}"#]);
        w.until_finished(id).await;
        daemon.stop();
    }

    async fn a_running_attempt_ends_on_the_component_that_it_began_with(w: Workshop) {
        let (old, new) = (rebuilt(&component("guests/slow"), 1), rebuilt(&component("guests/slow"), 2));
        let file = w.write("slow.wasm", old);
        w.configure(&slow_from(&file, ""));
        let daemon = w.serve();
        let running = w.enqueue("slow", &["--payload", r#"{"steps": 20, "step_ms": 100}"#]);
        w.until(running, "running", |item| item.status == Status::Running && item.progress.is_some()).await;
        w.write("slow.wasm", new);
        assert!(w.run_ok(&["reload"]).contains("reloaded: slow"));
        assert!(w.log().contains("rebuilt=[\"slow\"]"), "{}", w.log());
        assert_eq!(w.item(running).await.status, Status::Running);
        let next = w.enqueue("slow", &["--payload", r#"{"steps": 1, "step_ms": 1}"#]);
        let (running, next) = (w.until_finished(running).await, w.until_finished(next).await);
        assert_eq!((running.status, running.attempt), (Status::Succeeded, 1));
        assert_ne!(running.handler_digest, next.handler_digest);
        daemon.stop();
    }

    async fn a_hundred_running_attempts_lose_nothing_by_ten_reloads(w: Workshop) {
        let file = w.write("slow.wasm", rebuilt(&component("guests/slow"), 0));
        let worker = "[worker]\nhost = \"test-host\"\nslots = 100\npoll_interval = \"200ms\"\n";
        w.configure_with(worker, &slow_from(&file, ""));
        let daemon = w.serve();
        let payload = Json::parse(r#"{"steps": 100, "step_ms": 100}"#).unwrap();
        let items: Vec<_> = (0..100).map(|_| NewItem::new("slow", payload.clone())).collect();
        w.queue().await.enqueue(&items).await.unwrap();
        until_all_are(&w, "status = 'running'").await;
        for mark in 1..=10 {
            w.write("slow.wasm", rebuilt(&component("guests/slow"), mark));
            w.run_ok(&["reload"]);
        }
        until_all_are(&w, "finished_at is not null").await;
        until_all_are(&w, "status = 'succeeded' and attempt = 1 and interruptions = 0").await;
        daemon.stop();
    }
}

#[tokio::test]
async fn two_hosts_with_different_registries_each_do_their_own_and_strand_nothing() {
    let w = Workshop::new(Store::Postgres).await;
    w.configure(&guest("echo", ""));
    let one = w.serve();
    // The second host's configuration, in the place of the first's.
    w.configure(&guest("slow", ""));
    let two = w.serve();
    let item = |kind: &str, payload: &str| NewItem::new(kind, Json::parse(payload).unwrap());
    let items =
        [item("echo", r#"{"message": "x"}"#), item("slow", r#"{"steps": 1, "step_ms": 1}"#), item("nobodys", "{}")];
    let ids: Vec<_> = w.queue().await.enqueue(&items).await.unwrap().iter().map(|answer| answer.id()).collect();
    for id in &ids[..2] {
        assert_eq!(w.until_finished(*id).await.status, Status::Succeeded);
    }
    assert_eq!((w.item(ids[2]).await.status, w.item(ids[2]).await.attempt), (Status::Queued, 0));
    let kinds: Value = serde_json::from_str(&w.run_ok(&["kinds", "--json"])).unwrap();
    let hosts: Vec<_> = kinds
        .as_array()
        .unwrap()
        .iter()
        .map(|kind| (kind["kind"].as_str().unwrap(), kind["hosts"].as_array().unwrap().len()))
        .collect();
    assert_eq!(hosts, [("echo", 1), ("nobodys", 0), ("slow", 1)]);
    assert!(w.run_ok(&["kinds"]).contains("nobody"));
    one.stop();
    two.stop();
}

#[tokio::test]
async fn settings_that_only_a_restart_takes_in_are_named() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&guest("echo", ""));
    let daemon = w.serve();
    let text = std::fs::read_to_string(w.path("workhost.toml")).unwrap();
    w.write("workhost.toml", text.replace("poll_interval = \"200ms\"", "poll_interval = \"300ms\""));
    let said = w.run_ok(&["reload"]);
    assert!(said.contains("setting-needs-restart") && said.contains("worker"), "{said}");
    assert_eq!(said.matches("setting-needs-restart").count(), 1, "no other setting changed: {said}");
    daemon.stop();
}

#[tokio::test]
async fn a_daemon_that_is_not_there_is_told_with_what_to_do() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&guest("echo", ""));
    assert!(w.run_to(2, &["reload"]).contains("is `workhost serve` running"));
    let daemon = w.serve();
    daemon.kill();
    // The socket of a daemon that was killed is still there.
    assert!(w.path("workhost.sock").exists());
    assert!(w.run_to(2, &["reload"]).contains("no daemon can be reached"));
    let daemon = w.serve();
    w.run_ok(&["reload"]);
    daemon.stop();
    let queued = w.queue().await.list(&Filter::default()).await.unwrap();
    assert!(queued.is_empty());
}

#[tokio::test]
async fn nonsense_on_the_control_socket_harms_nobody() {
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixStream;

    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&guest("echo", ""));
    let daemon = w.serve();
    let socket = w.path("workhost.sock");
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    for nonsense in [&b"\n"[..], b"\xff\xff\xff\n", &[b'x'; 100_000], b"reload now\n"] {
        let mut stream = UnixStream::connect(&socket).unwrap();
        let _ = stream.write_all(nonsense);
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(!answer.contains("valid"), "{answer}");
    }
    // One that asks nothing holds up nobody.
    let _silent = UnixStream::connect(&socket).unwrap();
    w.run_ok(&["reload"]);
    daemon.stop();
}
