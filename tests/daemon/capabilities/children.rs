//! `queue`: what a handler enqueues.

use serde_json::json;
use workhost_queue::{ItemId, Status};

use crate::harness::*;

/// A handler that may enqueue items of these kinds.
pub(super) fn fan_out(kinds: &[&str]) -> String {
    let component = component("guests/fan-out");
    format!("[kinds.fan-out]\n[[handlers]]\ncomponent = {component:?}\n[handlers.queue]\nkinds = {kinds:?}\n")
}

async fn fan(w: &Workshop, payload: serde_json::Value) -> workhost_queue::WorkItem {
    let id = w.enqueue("fan-out", &["--payload", &payload.to_string()]);
    w.until_finished(id).await
}

on_both_stores! {
    async fn children_run_and_name_their_parent(w: Workshop) {
        w.configure(&(fan_out(&["echo"]) + &guest("echo", "")));
        let daemon = w.serve();
        let parent = fan(&w, json!({ "kind": "echo", "payload": { "message": "hi" }, "items": 3, "scope": "s" })).await;
        let created = result(&parent)["created"].as_array().unwrap().clone();
        assert_eq!(created.len(), 3);
        for id in created {
            let child = w.until_finished(ItemId(id.as_i64().unwrap())).await;
            assert_eq!((child.parent_id, child.scope.as_deref()), (Some(parent.id), Some("s")));
            assert_eq!(result(&child), json!({ "message": "hi" }));
        }
        let shown = w.run_ok(&["list", "--kind", "echo", "--json"]);
        assert!(shown.contains(&format!("\"parent_id\":{}", parent.id)), "{shown}");
        daemon.stop();
    }

    async fn children_of_one_key_coalesce(w: Workshop) {
        w.configure(&(fan_out(&["echo"]) + &guest("echo", "")));
        let daemon = w.serve();
        let child = json!({
            "kind": "echo", "payload": { "message": "hi" }, "items": 3, "dedup_key": "one", "delay_seconds": 3600
        });
        let first = result(&fan(&w, child.clone()).await);
        assert_eq!((first["created"].as_array().unwrap().len(), first["existing"].as_array().unwrap().len()), (1, 2));
        let second = result(&fan(&w, child).await);
        assert_eq!((&second["created"], second["existing"][0].as_u64()), (&json!([]), first["created"][0].as_u64()));
        let waiting = w.item(ItemId(first["created"][0].as_i64().unwrap())).await;
        assert_eq!(waiting.status, Status::Queued);
        assert!((waiting.run_at - waiting.created_at).whole_seconds() == 3600, "{waiting:?}");
        daemon.stop();
    }

    async fn what_may_not_be_enqueued_is_refused_with_the_mend_and_nothing_is(w: Workshop) {
        w.configure(&(fan_out(&["echo"]) + &guest("echo", "") + &guest("slow", "")));
        let daemon = w.serve();
        for (payload, words) in [
            (json!({ "kind": "slow", "payload": { "steps": 1, "step_ms": 1 } }), "add it to `kinds` of [handlers.queue]"),
            (json!({ "kind": "echo", "payload": { "massage": 1 } }), "item 1: payload"),
            (json!({ "kind": "echo", "payload": { "message": "x" }, "items": 1001 }), "1001 items"),
            (json!({ "kind": "echo", "payload": { "message": "x" }, "scope": "" }), "scope: it is empty"),
        ] {
            let refused = fan(&w, payload).await;
            let error = refused.error.clone().unwrap_or_default();
            assert!(refused.status == Status::Failed && error.contains(words), "{refused:?}");
        }
        let children = w.run_ok(&["list", "--kind", "echo", "--json"]);
        assert_eq!(children.trim(), "[]");
        daemon.stop();
    }
}

#[tokio::test]
async fn a_component_that_enqueues_needs_the_grant_and_is_told_its_lines() {
    let w = Workshop::new(Store::Sqlite).await;
    let component = component("guests/fan-out");
    w.configure(&format!("[kinds.fan-out]\n[[handlers]]\ncomponent = {component:?}\n"));
    let said = w.run_refused(&["validate"]);
    assert!(said.contains("import-not-granted") && said.contains("[handlers.queue]"), "{said}");
    let inspected = w.run_ok(&["inspect", &component]);
    assert!(inspected.contains("[handlers.queue]\n  kinds = "), "{inspected}");
    w.configure(&(fan_out(&["elsewhere"])));
    assert!(w.run_ok(&["validate"]).contains("enqueued-kind-undeclared"));
    assert!(w.run_refused(&["validate", "--strict"]).contains("`elsewhere`"));
    w.configure(&(fan_out(&[])));
    assert!(w.run_refused(&["validate"]).contains("handlers[0].queue.kinds"));
}
