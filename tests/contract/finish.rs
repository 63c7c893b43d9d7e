//! How attempts end.

use std::time::Duration;

use workhost_queue::{CancelAnswer, Claim, Finish, Outcome, Recorded, Status, WorkItem};

use crate::store::{TestStore, contract, contract_on, json, new};

/// Finishes a new running item, and tells how it was and how it is.
async fn finished(store: &TestStore, cancel: bool, outcome: Outcome) -> (Claim, WorkItem) {
    let claim = store.running(new("a")).await;
    if cancel {
        assert_eq!(store.queue.cancel(claim.item.id).await.unwrap(), CancelAnswer::Requested);
    }
    let finish = Finish { progress: Some(json("\"newest\"")), ..Finish::new(claim.fence(), outcome) };
    assert_eq!(store.queue.finish(std::slice::from_ref(&finish)).await.unwrap(), [Recorded::Recorded]);
    let item = store.get(claim.item.id).await;
    assert_eq!(item.progress.as_ref().unwrap().as_str(), "\"newest\"", "each write carries the newest progress");
    assert_eq!(item.lease_expires_at, None);
    assert_eq!(item.finished_at.is_some(), item.status.is_finished());
    assert_eq!(store.queue.finish(&[finish]).await.unwrap(), [Recorded::Recorded], "its answer may have been lost");
    assert_eq!(serde_json::to_value(store.get(claim.item.id).await).unwrap(), serde_json::to_value(&item).unwrap());
    (claim, item)
}

fn counts(item: &WorkItem) -> [u32; 4] {
    [item.attempt, item.stalls, item.failures, item.interruptions]
}

contract! {
    async fn success_keeps_the_result(store) {
        let (_, item) = finished(&store, false, Outcome::Succeeded(Some(json("{\"z\": 1, \"a\": 2}")))).await;
        assert_eq!((item.status, counts(&item)), (Status::Succeeded, [1, 0, 0, 0]));
        assert_eq!(item.result.unwrap().as_str(), "{\"z\": 1, \"a\": 2}");
        assert_eq!((item.error, item.reason), (None, None));
    }

    async fn failure_keeps_the_error(store) {
        for cancel in [false, true] {
            let (_, item) = finished(&store, cancel, Outcome::Failed { error: "broke".to_owned() }).await;
            assert_eq!((item.status, counts(&item)), (Status::Failed, [1, 0, 1, 0]), "also after a cancel request");
            assert_eq!((item.error.as_deref(), item.result, item.reason), (Some("broke"), None, None));
        }
    }

    async fn cancelled_keeps_a_partial_result(store) {
        let (_, item) = finished(&store, true, Outcome::Cancelled(Some(json("[1]")))).await;
        assert_eq!((item.status, counts(&item)), (Status::Cancelled, [1, 0, 0, 0]));
        assert_eq!((item.result.unwrap().as_str(), item.error, item.reason), ("[1]", None, None));
    }

    async fn release_keeps_the_place_in_line_and_costs_nothing(store) {
        let (claim, item) = finished(&store, false, Outcome::Released).await;
        assert_eq!((item.status, counts(&item)), (Status::Queued, [1, 0, 0, 1]));
        assert_eq!(item.run_at, claim.item.run_at);
        let again = store.claim("a").await.unwrap();
        assert_eq!((again.item.attempt, again.item.progress.unwrap().as_str()), (2, "\"newest\""));
    }

    async fn a_retry_waits_and_counts_a_failure(store) {
        let outcome = Outcome::Retry { error: "for now".to_owned(), delay: Duration::from_secs(60) };
        let (_, item) = finished(&store, false, outcome).await;
        assert_eq!((item.status, counts(&item)), (Status::Queued, [1, 0, 1, 0]));
        assert_eq!(item.error.as_deref(), Some("for now"));
        assert_eq!(item.run_at - item.updated_at, time::Duration::minutes(1));
        assert!(store.claim("a").await.is_none());
        store.age(item.id, "run_at", Duration::from_secs(60)).await;
        assert_eq!(store.claim("a").await.unwrap().item.attempt, 2);
    }

    async fn a_success_after_a_cancel_request_is_cancelled_with_its_result(store) {
        let (_, item) = finished(&store, true, Outcome::Succeeded(Some(json("[1]")))).await;
        assert_eq!((item.status, counts(&item)), (Status::Cancelled, [1, 0, 0, 0]));
        assert_eq!((item.result.unwrap().as_str(), item.error, item.reason), ("[1]", None, None));
    }

    async fn a_released_item_whose_cancel_was_requested_is_cancelled(store) {
        let (_, item) = finished(&store, true, Outcome::Released).await;
        assert_eq!((item.status, counts(&item)), (Status::Cancelled, [1, 0, 0, 1]));
        assert_eq!((item.error, item.reason), (None, None));
    }

    async fn a_failure_after_a_cancel_request_is_never_retried_and_still_a_failure(store) {
        let outcome = Outcome::Retry { error: "broke".to_owned(), delay: Duration::ZERO };
        let (claim, item) = finished(&store, true, outcome).await;
        assert_eq!((item.status, counts(&item)), (Status::Failed, [1, 0, 1, 0]));
        assert_eq!((item.error.as_deref(), item.run_at), (Some("broke"), claim.item.run_at));
    }

    async fn a_repeated_release_is_lost_once_a_later_attempt_runs(store) {
        let (claim, _) = finished(&store, false, Outcome::Released).await;
        store.claim("a").await.unwrap();
        let again = Finish::new(claim.fence(), Outcome::Released);
        assert_eq!(store.queue.finish(&[again]).await.unwrap(), [Recorded::Lost]);
    }

    async fn one_bad_row_harms_no_other(store) {
        let claims = [store.running(new("a")).await, store.running(new("bad")).await, store.running(new("a")).await];
        store.refuse_updates_of("bad").await;
        let finishes = claims.each_ref().map(|claim| Finish::new(claim.fence(), Outcome::Succeeded(None)));
        let answers = store.queue.finish(&finishes).await.unwrap();
        assert_eq!(answers, [Recorded::Recorded, Recorded::Busy, Recorded::Recorded]);
        assert_eq!(store.get(claims[1].item.id).await.status, Status::Running);
        store.refuse_no_more().await;
        assert_eq!(store.queue.finish(&finishes).await.unwrap(), [Recorded::Recorded; 3]);
    }
}

contract_on! { Postgres:
    async fn a_finish_whose_connection_drops_is_unavailable_and_can_be_repeated(store) {
        let claim = store.running(new("a")).await;
        let mut somebody = store.pg().begin().await.unwrap();
        sqlx::query("lock table work_items in access exclusive mode").execute(&mut *somebody).await.unwrap();
        let finish = Finish::new(claim.fence(), Outcome::Succeeded(None));
        let (queue, again) = (std::sync::Arc::clone(&store.queue), finish.clone());
        let asked = tokio::spawn(async move { queue.finish(&[again]).await });
        while store.number("select count(*) from pg_stat_activity where wait_event_type = 'Lock'").await == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        store.sql("select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'").await;
        let answer = asked.await.unwrap();
        assert!(matches!(answer, Err(workhost_queue::QueueError::Unavailable { .. })), "{answer:?}");
        somebody.rollback().await.unwrap();
        assert_eq!(store.queue.finish(&[finish]).await.unwrap(), [Recorded::Recorded]);
    }
}
