//! An item that kills its host.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use serde_json::json;
use workhost_queue::Status;

use crate::harness::*;

on_both_stores! {
    async fn a_poison_item_fails_as_stalled_after_three_and_the_good_ones_behind_it_succeed_each_once(w: Workshop) {
        w.configure(&(guest("slow", "") + &guest("echo", "")));
        w.queue().await.migrate().await.unwrap();
        let poison = w.add(&[new_item("slow", &json!({ "steps": 1, "step_ms": 1 }))]).await[0];
        let good: Vec<_> = (0..100).map(|n| new_item("echo", &json!({ "message": n.to_string() }))).collect();
        w.add(&good).await;

        let launch = || w.launch(Launch { env: &[("WORKHOST_FAULT", "started@slow")], ..Launch::default() });
        let ended = "select count(*) from work_items where finished_at is not null";
        let (mut daemon, mut deaths, start) = (launch(), 0, Instant::now());
        while w.count(ended).await < 101 {
            if let Some(status) = daemon.ended() {
                assert_eq!(status.signal(), Some(9), "{}", w.log());
                deaths += 1;
                daemon = launch();
            }
            assert!(start.elapsed() < PATIENCE, "not all have ended\n{}", w.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let item = w.item(poison).await;
        assert_eq!((item.status, item.stalls, item.reason.as_deref()), (Status::Failed, 3, Some("stalled")));
        assert_eq!(deaths, 3);
        let failed = w.count("select count(*) from work_items where kind = 'echo' and status <> 'succeeded'").await;
        assert_eq!(failed, 0, "good items failed with it\n{}", w.log());
        // Those that ran beside it died with their host.
        assert_eq!(w.count("select count(*) from work_items where kind = 'echo' and attempt <> 1 + stalls").await, 0);
        assert_eq!(w.count("select count(*) from work_items where kind = 'echo' and failures > 0").await, 0);
        daemon.stop();
    }
}
