//! Components of other languages than Rust, as their own tools make them. Their runtimes import environment, files and
//! sockets, used or not.

use serde_json::json;

use crate::harness::*;

fn probe(language: &str) -> String {
    let component = component(&format!("languages/probe-{language}"));
    format!("[kinds.probe-{language}]\n[[handlers]]\ncomponent = {component:?}\n")
}

#[tokio::test]
async fn components_of_python_and_javascript_run_and_get_nothing_that_was_not_granted() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&(probe("python") + &probe("javascript")));
    // Compiling a language's whole runtime takes a while; then it is in the cache.
    w.run_ok(&["validate"]);
    let daemon = w.serve();
    let python = w.enqueue("probe-python", &["--payload", r#"{"message": "Grüße"}"#]);
    let javascript = w.enqueue("probe-javascript", &["--payload", r#"{"message": "Grüße"}"#]);
    let failing = w.enqueue("probe-python", &["--payload", r#"{"message": "fail"}"#]);
    let item = w.until_finished(python).await;
    let found = result(&item);
    assert_eq!((&found["message"], &found["environment"]), (&json!("Grüße"), &json!({})));
    for probed in ["files", "written", "network"] {
        assert!(found[probed]["refused"].is_string(), "{probed}: {found}");
    }
    assert!(item.log_tail.unwrap().contains("info: probing attempt=\"1\""));
    let item = w.until_finished(javascript).await;
    assert_eq!(result(&item), json!({ "message": "Grüße", "globals": [] }));
    assert_eq!(w.until_finished(failing).await.error.as_deref(), Some("it was told to fail"));
    daemon.stop();
}
