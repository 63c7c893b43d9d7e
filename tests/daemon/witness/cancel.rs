//! Attempts that end because somebody cancelled their item.

use std::time::Duration;

use serde_json::json;
use workhost_queue::{CancelAnswer, Status};

use super::stage::{Part, Stage, WORKER};
use crate::harness::*;

/// A grace much longer than a lease.
const PATIENT: &str = "[worker]\nhost = \"test-host\"\npoll_interval = \"200ms\"\nheartbeat_interval = \"150ms\"\n\
    lease = \"2s\"\ncancel_grace = \"5m\"\nshutdown_grace = \"1s\"\n";

on_both_stores! {
    async fn a_cancelled_item_has_no_trace_later_than_its_end(w: Workshop) {
        let stage = Stage::new(&w, WORKER, "", "").await;
        let daemon = w.serve();
        let cast = stage.all().await;
        let queue = w.queue().await;
        for cast in &cast {
            if cast.part == Part::Races {
                stage.go(cast.id);
            }
            queue.cancel(cast.id).await.unwrap();
        }
        for cast in &cast {
            let item = w.until_finished(cast.id).await;
            let (name, requested, finished) = (cast.name, item.cancel_requested_at, item.finished_at.unwrap());
            stage.none_after(cast, 1, finished).await;
            // A racer may have been done before.
            let status = if requested.is_some() { Status::Cancelled } else { Status::Succeeded };
            assert!(requested.is_some() || cast.part == Part::Races, "{name}: {item:#?}");
            assert_eq!((item.status, item.attempt, &item.error), (status, 1, &None), "{name}");
            match cast.part {
                Part::Deaf => {
                    assert_eq!(item.result, None, "{name}");
                    assert!(finished >= requested.unwrap() + Duration::from_secs(1), "{name}: ended before its grace");
                    stage.progress_is_the_newest(cast, &item);
                }
                Part::Stops | Part::IsDone | Part::Races => {
                    stage.progress_is_the_last(cast.id, &item);
                    assert_eq!(item.result, item.progress, "{name}");
                }
            }
            if let Part::Stops | Part::IsDone = cast.part {
                assert!(stage.trace(cast.id, "told-cancel-requested").is_some(), "{name}");
            }
        }
        stage.silence(&cast).await;
        daemon.idles().await;
        daemon.stop();
    }

    async fn a_guest_that_computes_leaves_the_cores_to_others_once_it_has_ended(w: Workshop) {
        let stage = Stage::new(&w, WORKER, "", "").await;
        let daemon = w.serve();
        let id = stage.enqueue("witness", json!({ "does": "spin" })).await;
        stage.until_traces(id, 1).await;
        w.run_ok(&["cancel", &id.to_string()]);
        assert_eq!(w.until_finished(id).await.status, Status::Cancelled);
        daemon.idles().await;
        daemon.stop();
    }

    async fn a_handler_that_tidies_up_for_longer_than_a_lease_keeps_its_item(w: Workshop) {
        let stage = Stage::new(&w, PATIENT, "", "").await;
        let daemon = w.serve();
        // A host that would take it if it could.
        let other = (w.app.store == Store::Postgres).then(|| {
            let configured = std::fs::read_to_string(w.path("workhost.toml")).unwrap();
            w.write("other.toml", configured.replace("test-host", "other-host"));
            w.launch(Launch { host: "other", ..Launch::default() })
        });
        let id = stage.enqueue("witness", json!({ "does": "tidy", "tidies_ms": 5000 })).await;
        stage.until_traces(id, 10).await;
        w.run_ok(&["cancel", &id.to_string()]);
        stage.until_trace(id, "tidies").await;
        let queue = w.queue().await;
        let asked = queue.get(id).await.unwrap().unwrap();
        assert_eq!(queue.cancel(id).await.unwrap(), CancelAnswer::Requested);
        let item = w.until_finished(id).await;
        assert_eq!((item.status, item.attempt, item.stalls, item.error.as_ref()), (Status::Cancelled, 1, 0, None));
        assert_eq!(item.cancel_requested_at, asked.cancel_requested_at, "a second request is none");
        stage.progress_is_the_last(id, &item);
        assert_eq!(item.result, item.progress);
        other.into_iter().chain([daemon]).for_each(Daemon::stop);
    }

    async fn a_repeated_cancel_changes_nothing(w: Workshop) {
        let stage = Stage::new(&w, PATIENT, "", "").await;
        let daemon = w.serve();
        let id = stage.enqueue("witness", json!({ "does": "sleep" })).await;
        stage.until_traces(id, 1).await;
        w.until(id, "telling its progress", |item| item.progress.is_some()).await;
        let shown = |mut item: workhost_queue::WorkItem| {
            // A heartbeat moves it, and nothing else.
            item.lease_expires_at = None;
            format!("{item:?}")
        };
        w.run_ok(&["cancel", &id.to_string()]);
        let asked = shown(w.item(id).await);
        w.run_ok(&["cancel", &id.to_string()]);
        assert_eq!(shown(w.item(id).await), asked);
        // Nor once it has ended; here by the shutdown, which finds the request.
        daemon.stop();
        let ended = w.item(id).await;
        assert_eq!(ended.status, Status::Cancelled);
        assert_eq!(w.queue().await.cancel(id).await.unwrap(), CancelAnswer::Finished);
        assert_eq!(shown(w.item(id).await), shown(ended));
    }

    async fn a_failure_after_a_cancel_is_still_one_and_is_not_retried(w: Workshop) {
        let stage = Stage::new(&w, PATIENT, "retries = 5\nretry_delay = \"1ms\"", "").await;
        let daemon = w.serve();
        for (ends, error) in [("failed", "could not tidy up"), ("panic", "panicked while it tidied up")] {
            let id = stage.enqueue("witness", json!({ "does": "tidy", "ends": ends })).await;
            stage.until_traces(id, 3).await;
            w.run_ok(&["cancel", &id.to_string()]);
            let item = w.until_finished(id).await;
            assert!(item.error.as_ref().is_some_and(|told| told.contains(error)), "{item:#?}");
            assert_eq!((item.status, item.attempt, item.failures), (Status::Failed, 1, 1));
            assert!(item.cancel_requested_at.is_some());
            stage.progress_is_the_last(id, &item);
        }
        daemon.stop();
    }
}
