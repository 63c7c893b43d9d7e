//! Attempts that end because nobody answers their heartbeats, while the process lives.

use std::process::Stdio;

use serde_json::json;
use workhost_queue::Status;

use super::stage::{Cast, Part, Stage, racer};
use crate::harness::*;

/// Half a lease is longer than it takes to set the stage, and short enough to wait for.
const SHORT: &str = "[worker]\nhost = \"test-host\"\npoll_interval = \"200ms\"\nheartbeat_interval = \"200ms\"\n\
    lease = \"6s\"\ncancel_grace = \"5m\"\nshutdown_grace = \"1s\"\nslots = 16\n";

/// Waits until the host has said that it stopped these itself.
async fn until_self_stopped(stage: &Stage<'_>, cast: &[Cast]) {
    for cast in cast {
        let said = format!("item={} ", cast.id);
        let stopped = || {
            let log = stage.w.log().to_lowercase().replace("selfstopped", "self-stopped");
            log.lines().any(|line| line.contains(&said) && line.contains("self-stopped"))
        };
        stage.until(stopped, &format!("the self-stop of item {} that {}", cast.id, cast.name)).await;
    }
}

on_both_stores! {
    async fn a_self_stopped_attempt_writes_nothing_even_if_its_guest_was_done(w: Workshop) {
        let stage = Stage::new(&w, SHORT, "", "").await;
        let daemon = w.serve();
        let cast = stage.all().await;
        let ids: Vec<_> = cast.iter().map(|cast| cast.id).collect();
        let held = w.hold(&ids).await;
        let before = stage.items(&cast).await;
        // Its end cannot be recorded.
        stage.go(racer(&cast));
        until_self_stopped(&stage, &cast).await;
        stage.silence(&cast).await;
        for ((cast, before), after) in cast.iter().zip(&before).zip(stage.items(&cast).await) {
            assert_eq!(format!("{before:?}"), format!("{after:?}"), "{}", cast.name);
            // Long before anybody else could have the item.
            stage.none_after(cast, 1, before.lease_expires_at.unwrap()).await;
        }
        held.let_go().await;
        for (cast, before) in cast.iter().zip(&before) {
            let name = cast.name;
            let item = w.until_finished(cast.id).await;
            assert_eq!((item.status, item.attempt), (Status::Succeeded, 2), "{name}: {item:#?}");
            assert_eq!((item.stalls, item.failures, item.interruptions), (1, 0, 0), "{name}");
            assert!(item.started_at >= before.lease_expires_at, "{name}: recovered before its lease ran out");
            // In the order of the attempts: nothing of the first after the second began.
            let attempts: Vec<_> = stage.traces(cast.id).iter().map(|trace| trace.attempt).collect();
            assert!(attempts.is_sorted(), "{name}: {attempts:?}");
            if cast.part == Part::Races {
                assert!(stage.traces(cast.id).iter().any(|trace| (trace.attempt, &*trace.what) == (1, "end")), "{name}");
            }
        }
        daemon.idles().await;
        daemon.stop();
    }

    async fn a_cancel_requested_while_nobody_answers_is_found_by_the_recovery(w: Workshop) {
        let stage = Stage::new(&w, SHORT, "", "").await;
        let daemon = w.serve();
        let id = stage.enqueue("witness", json!({ "does": "tidy" })).await;
        let cast = [Cast { id, name: "tidies up", part: Part::Stops }];
        stage.until_traces(id, 3).await;
        let held = w.hold(&[id]).await;
        // It waits for the row as well.
        let mut cancel = w.command(&["cancel", &id.to_string()]);
        let cancel = cancel.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        until_self_stopped(&stage, &cast).await;
        held.let_go().await;
        let said = cancel.wait_with_output().unwrap();
        assert!(said.status.success(), "{said:?}");
        let item = w.until_finished(id).await;
        assert_eq!((item.status, item.attempt, item.error.as_ref()), (Status::Cancelled, 1, None), "{item:#?}");
        assert!(stage.traces(id).iter().all(|trace| !trace.what.starts_with("told")), "it was told of a cancel");
        daemon.stop();
    }
}
