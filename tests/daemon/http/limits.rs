//! Requests and responses that are too many, too large or too long.

use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

/// Short limits of time, so that a test sees them.
fn impatient() -> Limits {
    Limits { http_time: Duration::from_secs(1), ..Limits::default() }
}

#[tokio::test]
async fn a_response_that_never_ends_is_broken_off_by_the_time_of_a_request() {
    let server = Server::start();
    for (path, read) in [("/endless", 1..=200), ("/stalls", 4..=4), ("/hang", 0..=0)] {
        let handler = load("fetch", grant(&[&server.url("")]), impatient()).await;
        let start = Instant::now();
        let ran = run(&handler, json!({ "url": server.url(path) })).await;
        assert!(ran.error().contains("HttpResponseTimeout"), "{path}: {}", ran.error());
        assert!(read.contains(&ran.summary()["bytes"].as_u64().unwrap()), "{path}: {}", ran.summary());
        assert!(
            ran.log.contains(&format!("{} broken off: limit of 1s for a request", server.url(path))),
            "{}",
            ran.log
        );
        assert!(start.elapsed() < Duration::from_secs(10), "{path}");
        server.until_closed().await;
    }
}

#[tokio::test]
async fn of_a_response_of_ten_gigabytes_no_more_than_the_limit_arrives() {
    let server = Server::start();
    let limits = Limits { http_response_bytes: 8 << 20, ..Limits::default() };
    let handler = load("fetch", grant(&[&server.url("")]), limits).await;
    for (path, most) in [("/long", 0), ("/long-unsaid", 8 << 20)] {
        let ran = run(&handler, json!({ "url": server.url(path) })).await;
        assert_eq!(
            ran.error(),
            "the request or its response is too large: HttpResponseBodySize(Some(8388608))",
            "{path}"
        );
        assert!(ran.summary()["bytes"].as_u64().unwrap() <= most, "{path}: {}", ran.summary());
        assert!(ran.log.contains("broken off: limit of 8 MiB for the body of a response"), "{}", ran.log);
        server.until_closed().await;
    }
}

#[tokio::test]
async fn of_a_request_of_ten_gigabytes_no_more_than_the_limit_leaves() {
    let server = Server::start();
    let limits = Limits { http_request_bytes: 8 << 20, ..Limits::default() };
    let handler = load("upload", grant(&[&server.url("")]), limits).await;
    let authority = format!("127.0.0.1:{}", server.port);
    let ran = run(&handler, json!({ "authority": authority, "bytes": 10_u64 << 30 })).await;
    assert!(ran.error().contains("HttpRequestBodySize(Some(8388608))"), "{}", ran.error());
    assert!(ran.log.contains("broken off: limit of 8 MiB for the body of a request"), "{}", ran.log);
    server.until_closed().await;
    let [received] = &server.requests()[..] else { panic!("{:?}", server.requests()) };
    assert!(!received.whole && received.bytes <= 8 << 20, "{received:?}");

    // One that says so before is not even begun.
    let handler =
        load("fetch", grant(&[&server.url("")]), Limits { http_request_bytes: 1 << 20, ..Limits::default() }).await;
    let payload = json!({ "url": server.url("/x"), "method": "POST", "body_bytes": 2 << 20 });
    let ran = run(&handler, payload).await;
    assert!(ran.error().contains("HttpRequestBodySize"), "{}", ran.error());
    assert_eq!(server.connections(), 1);
}

// On several threads, as the daemon runs guests: requests must not overtake each other in the line.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_requests_at_once_take_turns() {
    let server = Server::start();
    let limits = Limits { http_requests: 8, ..Limits::default() };
    let handler = load("crowd", grant(&[&server.url("")]), limits).await;
    let payload = json!({ "authority": format!("127.0.0.1:{}", server.port), "requests": 1000 });
    let answers = run(&handler, payload).await.summary();
    assert_eq!((&answers["ok"], &answers["failed"]), (&json!(1000), &json!(0)), "{answers}");
    assert_eq!(server.requests().len(), 1000);
    assert!((2..=8).contains(&server.most_at_once()), "{} at once", server.most_at_once());
}

#[tokio::test]
async fn ten_thousand_requests_at_once_end_the_attempt_by_name_and_never_reach_the_server() {
    let server = Server::start();
    let handler = load("crowd", grant(&[&server.url("")]), Limits::default()).await;
    let payload = json!({ "authority": format!("127.0.0.1:{}", server.port), "requests": 10_000 });
    let ran = run(&handler, payload).await;
    let limit = "limit of 2000 open files, streams and other host resources".to_owned();
    assert_eq!(ran.ended, Ended::Limit { limit });
    server.until_closed().await;
    assert!(server.requests().len() <= 2000 && server.most_at_once() <= 16, "{}", server.most_at_once());
    // The handler's next attempt has all its turns.
    let payload = json!({ "authority": format!("127.0.0.1:{}", server.port), "requests": 100 });
    assert_eq!(run(&handler, payload).await.summary()["ok"], 100);
}

#[tokio::test]
async fn responses_that_are_kept_unread_hold_their_turns_and_the_next_request_is_told_so() {
    let server = Server::start();
    let limits = Limits { http_requests: 4, ..impatient() };
    let handler = load("crowd", grant(&[&server.url("")]), limits).await;
    let payload = json!({ "authority": format!("127.0.0.1:{}", server.port), "requests": 6, "keep": true });
    let ran = run(&handler, payload).await;
    let answers = ran.summary();
    assert_eq!((&answers["ok"], &answers["failed"]), (&json!(4), &json!(2)), "{answers}");
    assert!(ran.error().contains("ConnectionLimitReached"), "{answers}");
    assert!(ran.log.contains("not sent: limit of 4 requests at a time"), "{}", ran.log);
}

#[tokio::test]
async fn a_handler_has_no_more_connections_than_the_limit_whatever_names_it_takes() {
    let server = Server::start();
    const HERE: &[&[&str]] = &[&["127.0.0.1"]];
    let names: Vec<_> = (0..20).map(|number| format!("n{number}.test.example")).collect();
    let answers: Vec<_> = names.iter().map(|name| (name.as_str(), HERE)).collect();
    let allow = format!("http://*.test.example:{}", server.port);
    let limits = Limits { http_connections: 4, http_idle_time: Duration::from_millis(200), ..Limits::default() };
    let handler = load_with("fetch", inside(&[&allow]), limits, Names::of(&answers)).await;
    for name in names {
        let ran = run(&handler, json!({ "url": format!("http://{name}:{}/x", server.port) })).await;
        assert_eq!(ran.summary()["text"], "hello");
        server.until_open(4).await;
    }
    assert_eq!(server.connections(), 20);
}

#[tokio::test]
async fn a_head_that_is_too_large_is_told_by_name() {
    let server = Server::start();
    let handler = load("fetch", grant(&[&server.url("")]), Limits::default()).await;
    let ran = run(&handler, json!({ "url": server.url("/long-head") })).await;
    assert!(ran.error().contains("HttpResponseHeaderSectionSize"), "{}", ran.error());
    assert!(ran.log.contains("limit of 16 KiB or 100 fields for the head of a response"), "{}", ran.log);
    server.until_closed().await;

    let ran = run(&handler, json!({ "url": server.url("/x"), "header_bytes": 20_000 })).await;
    assert!(ran.error().contains("HttpRequestHeaderSectionSize"), "{}", ran.error());
    assert!(ran.log.contains("limit of 16 KiB for the head of a request"), "{}", ran.log);
    // Beyond what the host keeps for it at all.
    let ran = run(&handler, json!({ "url": server.url("/x"), "header_bytes": 1 << 20 })).await;
    assert_eq!(ran.ended, Ended::Limit { limit: "limit of 32 KiB of headers in one place".into() });
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn an_url_or_a_method_without_end_is_refused_by_its_setter() {
    let server = Server::start();
    let handler = load("fetch", grant(&[&server.url("")]), Limits::default()).await;
    let long = "x".repeat(1 << 20);
    for (payload, part) in [
        (json!({ "url": server.url("/x"), "method": long }), "its method"),
        (json!({ "url": server.url(&format!("/{long}")) }), "its URL's path"),
        (json!({ "url": format!("http://{long}.test/") }), "its URL's host"),
    ] {
        assert_eq!(run(&handler, payload).await.error(), format!("the request is invalid: {part}"));
    }
    let ran = run(&handler, json!({ "url": server.url("/x"), "method": "CONNECT" })).await;
    assert_eq!(ran.error(), "the request is invalid: HttpRequestMethodInvalid");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn what_is_just_as_large_as_its_limit_passes() {
    let server = Server::start();
    let limits = Limits { http_request_bytes: 1000, http_response_bytes: 5, ..Limits::default() };
    let handler = load("fetch", grant(&[&server.url("")]), limits).await;
    let ran = run(&handler, json!({ "url": server.url("/x"), "method": "POST", "body_bytes": 1000 })).await;
    assert_eq!(ran.summary()["text"], "hello", "{}", ran.summary());
    let path = format!("/{}", "x".repeat((8 << 10) - 1));
    assert_eq!(run(&handler, json!({ "url": server.url(&path) })).await.summary()["text"], "hello");
    let ran = run(&handler, json!({ "url": format!("http://{}/", "x".repeat(512)) })).await;
    assert!(!ran.error().ends_with("its URL's host"), "{}", ran.error());

    // A field counts its name, its value and four bytes: `x-long`, and in the response `location` and `content-length`.
    let value = "x".repeat(1000);
    for (payload, head) in [
        (json!({ "url": server.url("/x"), "header_bytes": 1000 }), 2 + 6 + 1000 + 4),
        (json!({ "url": server.url(&format!("/redirect?{value}")) }), 8 + 1000 + 4 + 14 + 1 + 4),
    ] {
        for (http_header_bytes, passes) in [(head, true), (head - 1, false)] {
            let limits = Limits { http_header_bytes, ..Limits::default() };
            let ran = run(&load("fetch", grant(&[&server.url("")]), limits).await, payload.clone()).await;
            assert_eq!(ran.summary()["error"].is_null(), passes, "{http_header_bytes}: {}", ran.summary());
        }
    }
}
