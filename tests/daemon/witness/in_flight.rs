//! Host calls that were on their way when their attempt ended.

use std::time::{Duration, Instant};

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

#[tokio::test]
async fn a_commit_that_is_under_way_when_its_attempt_ends_is_over_before_the_end_is_recorded() {
    let w = Workshop::new(Store::Postgres).await;
    let stage = Stage::new(&w, WORKER, "", "").await;
    // Each commit waits for the gate.
    w.app
        .execute(
            "create table gate ();
            create function wait() returns trigger language plpgsql as
                'begin lock table gate in row share mode; return null; end';
            create constraint trigger wait after insert on traces deferrable initially deferred
                for each row execute function wait()",
        )
        .await;
    let daemon = w.serve();
    let held = w.app.hold("gate").await;
    let id = stage.enqueue("witness", json!({ "does": "ignore", "to": "sql" })).await;
    let commits = "select query from pg_stat_activity where datname = current_database() and query = 'commit' \
        and wait_event_type = 'Lock'";
    let start = Instant::now();
    while w.app.texts(commits).await.is_empty() {
        assert!(start.elapsed() < PATIENCE, "no commit waits\n{}", w.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    w.run_ok(&["cancel", &id.to_string()]);
    // Its grace is one second; the commit is waited for longer.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let queue = w.queue().await;
    let has_ended = queue.get(id).await.unwrap().unwrap().status != Status::Running;
    held.let_go().await;
    assert_eq!(w.until_finished(id).await.status, Status::Cancelled);
    // Nobody had seen a row while the gate was held.
    let at_the_end = if has_ended { 0 } else { stage.count("true", id).await };
    stage.silence(&[Cast { id, name: "waits for its commit", part: Part::Deaf }]).await;
    assert_eq!(stage.count("true", id).await, at_the_end, "a row came after the item had ended");
    daemon.stop();
}
