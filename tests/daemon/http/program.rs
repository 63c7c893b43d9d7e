//! The program: its configuration, what it says of it, and its daemon.

use std::time::{Duration, Instant};

use serde_json::json;
use workhost_queue::Status;

use super::server::Server;
use crate::harness::*;

/// The guest `fetch` with this grant.
fn fetch(settings: &str, http: &str) -> String {
    format!("{}[handlers.http]\n{http}\n", guest("fetch", settings))
}

fn enqueue(w: &Workshop, payload: serde_json::Value) -> workhost_queue::ItemId {
    w.enqueue("fetch", &["--payload", &payload.to_string()])
}

#[tokio::test]
async fn a_daemon_sends_what_is_granted_and_says_what_is_not() {
    let w = Workshop::new(Store::Sqlite).await;
    let (server, other) = (Server::start(), Server::start());
    let inside = format!("http://localhost:{}", server.port);
    w.configure(&fetch("", &format!("allow = [{:?}, {inside:?}]", server.url(""))));
    let daemon = w.serve();
    let id = enqueue(&w, json!({ "url": server.url("/x") }));
    assert_eq!(result(&w.until_finished(id).await)["text"], "hello");
    // Not on the list.
    let id = enqueue(&w, json!({ "url": other.url("/x") }));
    let error = result(&w.until_finished(id).await)["error"].clone();
    assert_eq!(error, "the request was denied: HttpRequestDenied");
    // A name that leads to this machine.
    let id = enqueue(&w, json!({ "url": format!("{inside}/x") }));
    let error = result(&w.until_finished(id).await)["error"].clone();
    assert_eq!(error, "the request was denied: DestinationIpProhibited");
    daemon.stop();
    assert_eq!((server.requests().len(), other.connections()), (1, 0));
    let log = w.log();
    for words in [format!("http request to {} denied", other.url("/x")), format!("http request to {inside}/x denied")] {
        assert!(log.contains(&words), "{words}: {log}");
    }

    // With the line that the log said to write.
    w.configure(&fetch("", &format!("allow = [{inside:?}]\nprivate = [\"127.0.0.0/8\", \"::1\"]")));
    let daemon = w.serve();
    let id = enqueue(&w, json!({ "url": format!("{inside}/x") }));
    assert_eq!(result(&w.until_finished(id).await)["text"], "hello");
    daemon.stop();
}

#[tokio::test]
async fn an_item_that_runs_out_of_time_or_is_cancelled_leaves_no_request_behind() {
    let w = Workshop::new(Store::Sqlite).await;
    let server = Server::start();
    w.configure(&fetch("timeout = \"1s\"", &format!("allow = [{:?}]", server.url(""))));
    let daemon = w.serve();
    let start = Instant::now();
    let id = enqueue(&w, json!({ "url": server.url("/hang") }));
    let item = w.until_finished(id).await;
    assert_eq!((item.status, item.error.as_deref()), (Status::Failed, Some("timeout of 1s")));
    assert!(start.elapsed() < Duration::from_secs(30));
    server.until_closed().await;
    let id = enqueue(&w, json!({ "url": server.url("/endless") }));
    server.until_requests(2).await;
    w.run_ok(&["cancel", &id.to_string()]);
    w.until_finished(id).await;
    server.until_closed().await;
    daemon.stop();
}

#[tokio::test]
async fn each_entry_that_is_none_is_a_finding_at_its_line() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&fetch(
        "",
        "allow = [\n\"https://api.example.com\",\n\"api.example.com\",\n\"https://*\",\n\"https://me:hunter2@a.example\"]\n\
         private = [\n\"10.0.0.0/8\",\n\"10.0.0.7/8\"]",
    ));
    let said = w.run_refused(&["validate"]);
    for words in [
        "handlers[0].http.allow[1]: `api.example.com` begins with neither http:// nor https:// [http-entry-invalid]",
        "handlers[0].http.allow[2]: `https://*` has a `*`",
        "handlers[0].http.allow[3]: an entry has a user before its host [http-entry-invalid]",
        "handlers[0].http.private[1]: `10.0.0.7/8` names an address inside of the network [http-entry-invalid]",
        "hint: write \"10.0.0.0/8\"",
        "4 findings",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("hunter2"), "{said}");
    let lines: Vec<_> = said.lines().filter(|line| line.contains("http-entry-invalid")).collect();
    let configured = std::fs::read_to_string(w.path("workhost.toml")).unwrap();
    let line = |text: &str| configured.lines().position(|line| line.contains(text)).unwrap() + 1;
    assert!(lines[0].contains(&format!("workhost.toml:{}:", line("\"api.example.com\""))), "{said}");
    assert!(lines[3].contains(&format!("workhost.toml:{}:", line("10.0.0.7/8"))), "{said}");
}

#[tokio::test]
async fn a_grant_is_needed_is_told_when_it_is_not_and_is_there_to_paste() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&guest("fetch", ""));
    let said = w.run_refused(&["validate"]);
    assert!(said.contains("`wasi:http/outgoing-handler@0.2") && said.contains("with [handlers.http]"), "{said}");

    let said = w.run_ok(&["inspect", &component("guests/fetch")]);
    assert!(said.contains("  [handlers.http]\n  allow = ["), "{said}");
    assert_eq!(said.matches("[handlers.http]").count(), 1, "{said}");

    w.configure(&format!("{}[handlers.http]\nallow = [\"https://api.example.com\"]\n", guest("echo", "")));
    let said = w.run_ok(&["validate"]);
    assert!(said.contains("grant-unused"), "{said}");
    let said = w.run_refused(&["validate", "--strict"]);
    assert!(said.contains("handlers[0].http") && said.contains("grant-unused"), "{said}");

    w.configure(&fetch("", "allow = []"));
    let said = w.run_refused(&["validate"]);
    assert!(said.contains("handlers[0].http.allow") && said.contains("lists no origin"), "{said}");

    w.configure(&fetch("", "allow = [\"https://api.example.com\"]\nca = \"none.pem\""));
    let said = w.run_refused(&["validate"]);
    assert!(said.contains("none.pem") && said.contains("certificates-refused"), "{said}");
    w.write("none.pem", "no certificate");
    let said = w.run_refused(&["validate", "--offline"]);
    assert!(said.contains("has no certificate in PEM"), "{said}");
}
