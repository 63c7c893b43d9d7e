//! Attempts that end because their host goes down.

use serde_json::json;
use workhost_queue::Status;

use super::stage::{Part, Stage, WORKER, racer};
use super::traces::Trace;
use crate::harness::*;

on_both_stores! {
    async fn an_item_that_was_handed_back_has_no_trace_later_than_that(w: Workshop) {
        let stage = Stage::new(&w, WORKER, "", "").await;
        let daemon = w.serve();
        let cast = stage.all().await;
        let before = stage.items(&cast).await;
        stage.go(racer(&cast));
        daemon.stop();
        for ((cast, before), item) in cast.iter().zip(before).zip(stage.items(&cast).await) {
            let name = cast.name;
            stage.none_after(cast, 1, item.updated_at).await;
            assert_eq!((item.attempt, item.stalls, item.failures), (1, 0, 0), "{name}");
            match cast.part {
                Part::Deaf | Part::Stops => {
                    assert_eq!((item.status, item.interruptions), (Status::Queued, 1), "{name}");
                    assert_eq!(item.run_at, before.run_at, "{name}: keeps its place in line");
                    assert_eq!((&item.result, &item.error, item.finished_at), (&None, &None, None), "{name}");
                }
                Part::IsDone | Part::Races => {
                    assert_eq!((item.status, item.interruptions), (Status::Succeeded, 0), "{name}");
                    assert_eq!(item.result, item.progress, "{name}");
                }
            }
            match cast.part {
                Part::Deaf => stage.progress_is_the_newest(cast, &item),
                _ => stage.progress_is_the_last(cast.id, &item),
            }
            if let Part::Stops | Part::IsDone = cast.part {
                assert!(stage.trace(cast.id, "told-shutdown").is_some(), "{name}");
            }
        }
        stage.silence(&cast).await;
        // The next host goes on with all of them.
        let daemon = w.serve();
        for cast in &cast {
            let item = w.until_finished(cast.id).await;
            let attempt = if let Part::Deaf | Part::Stops = cast.part { 2 } else { 1 };
            assert_eq!((item.status, item.attempt, item.stalls), (Status::Succeeded, attempt, 0), "{}", cast.name);
        }
        daemon.stop();
    }

    async fn a_failure_during_a_shutdown_is_recorded_as_one(w: Workshop) {
        let stage = Stage::new(&w, WORKER, "", "").await;
        let daemon = w.serve();
        let mut ids = Vec::new();
        for (ends, error) in [("failed", "could not tidy up"), ("panic", "panicked while it tidied up")] {
            let id = stage.enqueue("witness", json!({ "does": "tidy", "ends": ends, "tidies_ms": 100 })).await;
            stage.until_traces(id, 3).await;
            ids.push((id, error));
        }
        daemon.stop();
        for (id, error) in ids {
            let item = w.item(id).await;
            assert_eq!((item.status, item.failures, item.interruptions), (Status::Failed, 1, 0));
            assert!(item.error.as_ref().is_some_and(|told| told.contains(error)), "{item:#?}");
            stage.progress_is_the_last(id, &item);
        }
    }

    async fn a_cancel_before_a_shutdown_is_still_one(w: Workshop) {
        // A grace that only the shutdown can cut short.
        let stage = Stage::new(&w, &WORKER.replace("cancel_grace = \"1s\"", "cancel_grace = \"5m\""), "", "").await;
        let daemon = w.serve();
        let sleeps = stage.enqueue("witness", json!({ "does": "sleep" })).await;
        let tidies = stage.enqueue("witness", json!({ "does": "tidy", "tidies_ms": 800 })).await;
        stage.until_traces(sleeps, 1).await;
        stage.until_traces(tidies, 3).await;
        for id in [sleeps, tidies] {
            w.run_ok(&["cancel", &id.to_string()]);
        }
        stage.until_trace(tidies, "told-cancel-requested").await;
        daemon.stop();
        for id in [sleeps, tidies] {
            let item = w.item(id).await;
            assert_eq!((item.status, item.attempt, item.error.as_ref()), (Status::Cancelled, 1, None));
            stage.progress_is_the_last(id, &item);
        }
        let told = |trace: &Trace| trace.what.starts_with("told");
        assert_eq!(stage.traces(tidies).into_iter().filter(told).count(), 1);
    }

    async fn what_was_handed_back_goes_on_before_what_came_later(w: Workshop) {
        let stage = Stage::new(&w, WORKER, "slots = 1", "").await;
        let daemon = w.serve();
        let first = stage.enqueue("witness", json!({ "does": "tidy" })).await;
        stage.until_traces(first, 3).await;
        let second = stage.enqueue("witness", json!({ "does": "race" })).await;
        daemon.stop();
        assert_eq!((w.item(first).await.status, w.item(second).await.attempt), (Status::Queued, 0));
        stage.go(second);
        let daemon = w.serve();
        let (first, second) = (w.until_finished(first).await, w.until_finished(second).await);
        assert!(first.finished_at <= second.started_at, "{first:#?}{second:#?}");
        daemon.stop();
    }
}
