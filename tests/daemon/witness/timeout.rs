//! Attempts that end because their time is over.

use std::time::Duration;

use serde_json::json;
use workhost_queue::Status;

use super::stage::{Part, Stage, WORKER};
use crate::harness::*;

/// With a grace of one second they are told after five.
const TIMEOUT: &str = "timeout = \"6s\"";
const TOLD: Duration = Duration::from_secs(5);
const OVER: Duration = Duration::from_secs(6);

on_both_stores! {
    async fn an_item_whose_time_is_over_has_no_trace_later_than_its_end(w: Workshop) {
        let stage = Stage::new(&w, WORKER, TIMEOUT, "").await;
        let daemon = w.serve();
        let cast = stage.all().await;
        for cast in &cast {
            let item = w.until_finished(cast.id).await;
            let (name, started, finished) = (cast.name, item.started_at.unwrap(), item.finished_at.unwrap());
            stage.none_after(cast, 1, finished).await;
            assert_eq!((item.attempt, item.stalls), (1, 0), "{name}");
            let failed = (Status::Failed, Some("timeout of 6s"));
            let ended = (item.status, item.error.as_deref());
            if cast.part == Part::Deaf {
                assert_eq!(ended, failed, "{name}");
                assert!(finished >= started + OVER, "{name}: ended before its time was over");
                stage.progress_is_the_newest(cast, &item);
                continue;
            }
            let told = stage.trace(cast.id, "told-deadline").unwrap_or_else(|| panic!("{name}: was not told"));
            assert!(told.at >= started + TOLD && told.at <= finished, "{name}: told at {}", told.at);
            stage.progress_is_the_last(cast.id, &item);
            match cast.part {
                Part::Stops => assert_eq!(ended, failed, "{name}"),
                _ => {
                    assert_eq!(ended, (Status::Succeeded, None), "{name}");
                    assert_eq!(item.result, item.progress, "{name}");
                }
            }
        }
        stage.silence(&cast).await;
        daemon.idles().await;
        daemon.stop();
    }

    async fn a_handler_that_is_done_the_moment_its_time_is_over_is_one_or_the_other(w: Workshop) {
        // Told at half its time, which it does not hear.
        let stage = Stage::new(&w, WORKER, "timeout = \"2s\"", "").await;
        let daemon = w.serve();
        let mut ends = Vec::new();
        for _ in 0..8 {
            ends.push(stage.enqueue("witness", json!({ "does": "race", "deaf": true })).await);
        }
        for id in &ends {
            stage.until_traces(*id, 1).await;
        }
        for id in &ends {
            let over = w.item(*id).await.started_at.unwrap() + Duration::from_secs(2);
            let wait = over - time::OffsetDateTime::now_utc();
            tokio::time::sleep(wait.try_into().unwrap_or_default()).await;
            stage.go(*id);
        }
        for id in ends {
            let item = w.until_finished(id).await;
            let ended = (item.status, item.error.as_deref());
            match stage.trace(id, "end") {
                Some(trace) if item.status == Status::Succeeded => {
                    assert_eq!(item.result.unwrap().to_value(), trace.number);
                    assert!(trace.at <= item.finished_at.unwrap());
                }
                _ => assert_eq!(ended, (Status::Failed, Some("timeout of 2s"))),
            }
        }
        daemon.stop();
    }

    async fn a_handler_that_is_done_before_its_time_is_over_is_not_told(w: Workshop) {
        let stage = Stage::new(&w, WORKER, "timeout = \"1h\"", "").await;
        let daemon = w.serve();
        let id = stage.enqueue("witness", json!({ "does": "race" })).await;
        stage.until_traces(id, 1).await;
        stage.go(id);
        let item = w.until_finished(id).await;
        assert_eq!(result(&item), 2);
        assert_eq!(stage.trace(id, "end").map(|trace| trace.number), Some(2));
        daemon.stop();
    }
}
