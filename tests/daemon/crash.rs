//! Crashes and shutdowns: what was running runs on.

use std::time::{Duration, Instant};

use serde_json::json;
use workhost_queue::{ItemId, Status};

use crate::handlers::{crawl, make_files};
use crate::harness::*;

const LONG: &str = r#"{"steps": 120, "step_ms": 20}"#;

/// Enqueues a long item and waits until it is well on its way.
async fn well_on_its_way(w: &Workshop) -> ItemId {
    let id = w.enqueue("slow", &["--payload", LONG]);
    w.until(id, "past step 10", |item| progress(item)["step"].as_u64() > Some(10)).await;
    id
}

on_both_stores! {
    async fn a_crawl_that_was_killed_is_recovered_after_its_lease_and_resumes(w: Workshop) {
        make_files(&w, "photos", 4000);
        w.configure(&crawl(&w).await);
        let daemon = w.serve();
        let id = w.enqueue("crawl", &["--scope", "photos"]);
        let before = w.until(id, "well on its way", |item| progress(item)["files_done"].as_u64() > Some(50)).await;
        assert_eq!(before.status, Status::Running, "the crawl was over before it could be killed");
        daemon.kill();
        let killed = Instant::now();
        // What the first attempt recorded is taken away: a crawl that starts over would bring it all back.
        w.app.execute("delete from crawl_files").await;

        let daemon = w.serve();
        let item = w.until(id, "running again", |item| item.attempt == 2).await;
        assert!(killed.elapsed() > Duration::from_secs(1), "claimed again although its lease had not run out");
        assert_eq!((item.stalls, item.failures, item.interruptions), (1, 0, 0));
        let item = w.until_finished(id).await;
        assert_eq!(result(&item)["files"], 4000, "the counts go on from where the first attempt was");
        let rows = w.app.texts("select name from crawl_files where scope = 'photos'").await.len();
        assert!(rows <= 3950, "it started over: {rows} files were read by the second attempt");
        daemon.stop();
    }

    async fn a_shutdown_hands_a_running_item_back_at_no_cost(w: Workshop) {
        w.configure(&guest("slow", ""));
        for signal in ["TERM", "INT"] {
            let daemon = w.serve();
            let id = well_on_its_way(&w).await;
            daemon.signal(signal);
            assert_eq!(daemon.wait().code(), Some(0));
            let item = w.item(id).await;
            assert_eq!(item.status, Status::Queued);
            assert_eq!((item.interruptions, item.stalls, item.failures), (1, 0, 0));
            assert!(progress(&item)["step"].as_u64() > Some(10), "its progress was lost");

            let daemon = w.serve();
            let item = w.until_finished(id).await;
            assert_eq!(item.attempt, 2);
            assert!(result(&item)["resumed_from"].as_u64() > Some(10), "it started over: {item:#?}");
            daemon.stop();
        }
    }

    async fn a_guest_that_ignores_the_shutdown_is_ended_and_handed_back(w: Workshop) {
        w.configure(&guest("spin", ""));
        let daemon = w.serve();
        let id = w.enqueue("spin", &[]);
        w.until(id, "running", |item| item.status == Status::Running).await;
        let asked = Instant::now();
        daemon.stop();
        assert!(asked.elapsed() < Duration::from_secs(7), "grace 2 s and at most 5 more");
        let item = w.item(id).await;
        assert_eq!((item.status, item.interruptions, item.stalls), (Status::Queued, 1, 0));
    }

    async fn a_second_signal_ends_it_at_once(w: Workshop) {
        w.configure_with("[worker]\nshutdown_grace = \"10m\"\n", &guest("spin", ""));
        let daemon = w.serve();
        let id = w.enqueue("spin", &[]);
        w.until(id, "running", |item| item.status == Status::Running).await;
        daemon.signal("TERM");
        while !w.log().contains("stopping") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        daemon.signal("TERM");
        assert_eq!(daemon.wait().code(), Some(130));
        assert_eq!(w.item(id).await.status, Status::Running, "left to its lease");
    }

    async fn the_third_stall_fails_the_item_and_nothing_else_is_harmed(w: Workshop) {
        w.configure(&guest("slow", ""));
        let mut daemon = w.serve();
        let id = w.enqueue("slow", &["--payload", r#"{"steps": 100000, "step_ms": 20}"#]);
        for attempt in 1..=3 {
            w.until(id, "running", |item| item.attempt == attempt && item.status == Status::Running).await;
            daemon.kill();
            daemon = w.serve();
        }
        let item = w.until_finished(id).await;
        assert_eq!((item.status, item.stalls, item.reason.as_deref()), (Status::Failed, 3, Some("stalled")));
        let next = w.enqueue("slow", &["--payload", r#"{"steps": 1, "step_ms": 1}"#]);
        assert_eq!(result(&w.until_finished(next).await)["steps"], json!(1));
        daemon.stop();
    }
}
