//! Attempts whose item another one has.

use super::stage::{Part, Stage};
use crate::harness::*;

/// The item is not recovered meanwhile from the attempt that it was given to.
const LONG: &str = "[worker]\nhost = \"test-host\"\npoll_interval = \"200ms\"\nheartbeat_interval = \"300ms\"\n\
    lease = \"10m\"\ncancel_grace = \"1s\"\nshutdown_grace = \"1s\"\nslots = 16\n";

on_both_stores! {
    async fn a_lost_attempt_is_ended_and_writes_nothing(w: Workshop) {
        let stage = Stage::new(&w, LONG, "", "").await;
        let daemon = w.serve();
        let cast = stage.all().await;
        let mut taken = Vec::new();
        for cast in &cast {
            w.take_away(cast.id, "select count(*) from work_items").await;
            if cast.part == Part::Races {
                // Its host has not heard of it.
                stage.go(cast.id);
            }
            taken.push((cast, w.item(cast.id).await));
        }
        for (cast, _) in &taken {
            let said = format!("item={} ", cast.id);
            let lost = || w.log().lines().any(|line| line.contains(&said) && line.to_lowercase().contains("lost"));
            stage.until(lost, &format!("the loss of item {} that {}", cast.id, cast.name)).await;
        }
        stage.silence(&cast).await;
        for (cast, taken) in taken {
            assert_eq!(format!("{:?}", w.item(cast.id).await), format!("{taken:?}"), "{}", cast.name);
            assert!(stage.traces(cast.id).iter().all(|trace| !trace.what.starts_with("told")), "{}", cast.name);
        }
        daemon.idles().await;
        daemon.stop();
    }

    async fn a_lost_attempt_writes_nothing_after_a_cancel_request_either(w: Workshop) {
        let stage = Stage::new(&w, &LONG.replace("cancel_grace = \"1s\"", "cancel_grace = \"5m\""), "", "").await;
        let daemon = w.serve();
        let id = stage.enqueue("witness", serde_json::json!({ "does": "tidy", "tidies_ms": 600_000 })).await;
        stage.until_traces(id, 3).await;
        w.run_ok(&["cancel", &id.to_string()]);
        stage.until_trace(id, "told-cancel-requested").await;
        w.take_away(id, "select count(*) from work_items").await;
        let taken = w.item(id).await;
        stage.until(|| w.log().to_lowercase().contains("lost"), "the loss").await;
        let traces = stage.traces(id);
        daemon.idles().await;
        assert_eq!(stage.traces(id), traces);
        assert_eq!(format!("{:?}", w.item(id).await), format!("{taken:?}"));
        daemon.stop();
    }
}
