//! Kinds that opted into retries.

use std::time::Duration;

use serde_json::json;
use workhost_queue::Status;

use crate::harness::*;

const HOUR: Duration = Duration::from_secs(3600);

on_both_stores! {
    async fn a_failed_item_waits_between_half_and_all_of_a_delay_that_doubles(w: Workshop) {
        w.configure(&guest("fail", "retries = 2\nretry_delay = \"1h\"\nretry_delay_max = \"1d\""));
        let daemon = w.serve();
        let message = json!({ "message": "mail server is away" }).to_string();
        // So few that their failures do not count as those of a handler that always fails.
        let ids = [(); 3].map(|()| w.enqueue("fail", &["--payload", &message]));
        let queue = w.queue().await;
        for (failures, delay) in [(1, HOUR), (2, 2 * HOUR)] {
            let mut waits = Vec::new();
            for id in ids {
                let item = w.until(id, "waiting", |item| item.failures == failures).await;
                assert_eq!((item.status, item.attempt, item.finished_at), (Status::Queued, failures, None));
                let attempts = queue.attempts(id).await.unwrap();
                let failed = attempts.iter().find(|record| record.attempt == failures).unwrap();
                let wait: Duration = (item.run_at - failed.ended_at).try_into().unwrap();
                assert!(wait >= delay / 2 && wait <= delay, "attempt {failures} of item {id} waits {wait:?}");
                waits.push(wait);
                w.make_due(id).await;
            }
            waits.dedup();
            assert!(waits.len() > 1, "all of them come back at the same time: {waits:?}");
        }
        for id in ids {
            let item = w.until_finished(id).await;
            assert_eq!((item.status, item.attempt, item.failures), (Status::Failed, 3, 3));
        }
        daemon.stop();
    }
}
