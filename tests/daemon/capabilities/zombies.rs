//! Attempts whose item was taken away in the middle of their calls: the store refuses them before their host has heard.

use std::time::Duration;

use serde_json::json;
use workhost_queue::{ItemId, Status};

use super::children::fan_out;
use crate::harness::*;

/// Heartbeats so rare that the attempt does not hear of its loss before a second has passed.
const SELDOM: &str = "[worker]\nhost = \"test-host\"\npoll_interval = \"200ms\"\nheartbeat_interval = \"2s\"\n\
    lease = \"60s\"\ncancel_grace = \"1s\"\nshutdown_grace = \"2s\"\n";

async fn until(w: &Workshop, query: &str, more_than: i64) {
    let start = std::time::Instant::now();
    while w.count(query).await <= more_than {
        assert!(start.elapsed() < PATIENCE, "{query} stays at {more_than}\n{}", w.log());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

on_both_stores! {
    async fn an_attempt_whose_item_was_taken_enqueues_nothing_more(w: Workshop) {
        w.configure_with(SELDOM, &fan_out(&["child"]));
        let daemon = w.serve();
        let payload = json!({ "kind": "child", "payload": {}, "for_seconds": 60 }).to_string();
        let id = w.enqueue("fan-out", &["--payload", &payload]);
        let children = "select count(*) from work_items where kind = 'child'";
        until(&w, children, 10).await;
        // Counted in the transaction that takes it away: what was enqueued before is in, and nothing comes after.
        let at_the_end = w.take_away(id, children).await;
        assert!(at_the_end > 10);
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(w.count(children).await, at_the_end);
        assert!(w.log().contains("ended without a word") || w.log().contains("lost"), "{}", w.log());
        daemon.kill();
    }

    async fn an_attempt_whose_item_was_taken_deletes_nothing_more(w: Workshop) {
        let component = component("guests/retire");
        let settings = format!("[kinds.retire]\n[[handlers]]\ncomponent = {component:?}\nretention = {{ min_days = 1 }}\n");
        w.configure_with(SELDOM, &(settings + &guest("echo", "")));
        let daemon = w.serve();
        let old = w.enqueue("echo", &["--payload", r#"{"message": "x"}"#]);
        let young = w.enqueue("echo", &["--payload", r#"{"message": "x"}"#]);
        w.until_finished(old).await;
        w.until_finished(young).await;
        w.age(old, 3).await;
        let id = w.enqueue("retire", &["--payload", r#"{"older_than_days": 2, "for_seconds": 60}"#]);
        let gone = format!("select 1 - count(*) from work_items where id = {old}");
        until(&w, &gone, 0).await;
        w.take_away(id, "select count(*) from work_items").await;
        w.age(young, 3).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(w.item(young).await.status, Status::Succeeded);
        assert_eq!(w.item(ItemId(id.0)).await.status, Status::Running);
        daemon.kill();
    }
}
