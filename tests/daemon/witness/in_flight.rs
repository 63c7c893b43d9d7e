//! Host calls that were on their way when their attempt ended.

use serde_json::json;
use workhost_queue::Status;

use super::stage::{Cast, Part, Stage, WORKER};
use crate::harness::*;

on_both_stores! {
    async fn a_statement_that_waits_when_its_attempt_ends_has_no_effect_after_the_end(w: Workshop) {
        let stage = Stage::new(&w, WORKER, "", "").await;
        let daemon = w.serve();
        let held = w.app.hold("traces").await;
        let id = stage.enqueue("witness", json!({ "does": "ignore", "to": "sql" })).await;
        // The line is there; the row waits.
        stage.until_traces(id, 1).await;
        w.run_ok(&["cancel", &id.to_string()]);
        let item = w.until_finished(id).await;
        assert_eq!(item.status, Status::Cancelled);
        // Now it could go through.
        held.let_go().await;
        stage.silence(&[Cast { id, name: "waits for a table", part: Part::Deaf }]).await;
        assert_eq!(stage.count("true", id).await, 0, "a row came after the item had ended");
        daemon.stop();
    }
}
