//! Requests end with their attempt, and send nothing after it.

use std::time::Duration;

use serde_json::json;

use super::*;

#[tokio::test]
async fn an_attempt_that_is_ended_takes_its_requests_with_it() {
    let server = Server::start();
    let handler = load("fetch", grant(&[&server.url("")]), Limits::default()).await;
    for path in ["/hang", "/stalls"] {
        let before = server.requests().len();
        let control = Arc::new(Control::new());
        let attempt = tokio::spawn({
            let (handler, control, url) = (handler.clone(), control.clone(), server.url(path));
            async move { run_with(&handler, json!({ "url": url }), control).await }
        });
        server.until_requests(before + 1).await;
        control.end();
        assert_eq!(attempt.await.unwrap().ended, Ended::ByHost);
        server.until_closed().await;
    }
}

#[tokio::test]
async fn an_attempt_that_is_dropped_takes_its_requests_with_it() {
    let server = Server::start();
    let handler = load("fetch", grant(&[&server.url("")]), Limits::default()).await;
    let url = server.url("/hang");
    let attempt = run(&handler, json!({ "url": url }));
    assert!(tokio::time::timeout(Duration::from_secs(1), attempt).await.is_err());
    server.until_requests(1).await;
    server.until_closed().await;
}

#[tokio::test]
async fn a_body_that_an_attempt_leaves_unfinished_is_never_taken_for_the_whole() {
    let server = Server::start();
    let handler = load("upload", grant(&[&server.url("")]), Limits::default()).await;
    let payload = |before_end| json!({ "authority": format!("127.0.0.1:{}", server.port), "bytes": 1 << 20, "before_end": before_end });
    // It panics in the middle of its body.
    let ran = run(&handler, payload("panic")).await;
    assert!(matches!(ran.ended, Ended::Trapped { .. }), "{:?}", ran.ended);
    // It is ended in the middle of its body.
    let control = Arc::new(Control::new());
    let attempt = tokio::spawn({
        let (handler, control, payload) = (handler.clone(), control.clone(), payload("wait"));
        async move { run_with(&handler, payload, control).await }
    });
    while control.progress().is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    control.end();
    attempt.await.unwrap();
    server.until_requests(2).await;
    server.until_closed().await;
    for received in server.requests() {
        assert!(!received.whole && received.bytes <= 1 << 20, "{received:?}");
    }
    // And the whole is the whole.
    let ran = run(&handler, json!({ "authority": format!("127.0.0.1:{}", server.port), "bytes": 1 << 20 })).await;
    assert_eq!(ran.summary()["status"], 200);
    let last = server.requests().pop().unwrap();
    assert!(last.whole && last.bytes == 1 << 20, "{last:?}");
}
