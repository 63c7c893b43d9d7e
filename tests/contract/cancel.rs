//! Calling items off.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Barrier;
use workhost_queue::{Beat, CancelAnswer, ItemId, Pulse, Status};

use crate::store::{LEASE, ask, contract, contract_on, new};

contract! {
    async fn a_queued_item_is_cancelled_at_once(store) {
        let id = store.enqueue(new("a")).await;
        assert_eq!(store.queue.cancel(id).await.unwrap(), CancelAnswer::Cancelled);
        let item = store.get(id).await;
        assert_eq!((item.status, item.attempt), (Status::Cancelled, 0));
        assert!(item.finished_at.is_some() && item.cancel_requested_at == item.finished_at);
        assert!(store.claim("a").await.is_none());
    }

    async fn a_running_item_is_asked_and_the_first_request_counts(store) {
        let claim = store.running(new("a")).await;
        let id = claim.item.id;
        assert_eq!(store.queue.cancel(id).await.unwrap(), CancelAnswer::Requested);
        store.age(id, "cancel_requested_at", Duration::from_secs(9)).await;
        store.age(id, "updated_at", Duration::from_secs(9)).await;
        let first = serde_json::to_value(store.get(id).await).unwrap();
        assert_eq!(store.queue.cancel(id).await.unwrap(), CancelAnswer::Requested);
        assert_eq!(serde_json::to_value(store.get(id).await).unwrap(), first, "a repeated cancel changes nothing");
        assert_eq!(store.get(id).await.status, Status::Running);
    }

    async fn a_finished_item_stays_as_it_is(store) {
        let id = store.enqueue(new("a")).await;
        store.queue.cancel(id).await.unwrap();
        let before = serde_json::to_value(store.get(id).await).unwrap();
        assert_eq!(store.queue.cancel(id).await.unwrap(), CancelAnswer::Finished);
        assert_eq!(serde_json::to_value(store.get(id).await).unwrap(), before);
    }

    async fn an_unknown_item_is_unknown(store) {
        assert_eq!(store.queue.cancel(ItemId(12_345)).await.unwrap(), CancelAnswer::Unknown);
    }

    async fn a_cancel_racing_a_claim_is_never_lost(store) {
        let (claimer, canceller) = (store.host().await, store.host().await);
        const ROUNDS: u32 = 200;
        let mut outcomes = [0, 0];
        for _ in 0..ROUNDS {
            let id = store.enqueue(new("a")).await;
            let barrier = Arc::new(Barrier::new(2));
            let claim = tokio::spawn({
                let (queue, barrier) = (Arc::clone(&claimer), Arc::clone(&barrier));
                async move { barrier.wait().await; queue.claim(&ask("h", &[("a", 1)])).await.unwrap().pop() }
            });
            barrier.wait().await;
            let answer = canceller.cancel(id).await.unwrap();
            match (claim.await.unwrap(), answer) {
                (None, CancelAnswer::Cancelled) => {
                    outcomes[0] += 1;
                    assert_eq!(store.get(id).await.attempt, 0);
                }
                (Some(claim), CancelAnswer::Requested) => {
                    outcomes[1] += 1;
                    let beat = Beat { fence: claim.fence(), progress: None };
                    assert_eq!(claimer.heartbeat(&[beat], LEASE).await.unwrap(), [Pulse::CancelRequested]);
                }
                (claim, answer) => panic!("{answer:?}, and claimed: {claim:?}"),
            }
        }
        assert_eq!(outcomes.iter().sum::<u32>(), ROUNDS);
    }
}

contract_on! { Postgres:
    async fn a_cancel_waits_for_a_claim_that_is_being_made(store) {
        let id = store.enqueue(new("a")).await;
        let mut host = store.pg().begin().await.unwrap();
        sqlx::query(
            "update work_items set status = 'running', attempt = 1, host = 'h', started_at = now(), lease_expires_at = now() + interval '1 minute'",
        )
        .execute(&mut *host)
        .await
        .unwrap();
        let queue = store.host().await;
        let cancel = tokio::spawn(async move { queue.cancel(id).await });
        while store.number("select count(*) from pg_stat_activity where wait_event_type = 'Lock'").await == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        tokio::time::sleep(Duration::from_millis(800)).await;
        host.commit().await.unwrap();
        assert_eq!(cancel.await.unwrap().unwrap(), CancelAnswer::Requested);
        let item = store.get(id).await;
        assert!(item.status == Status::Running && item.cancel_requested_at.is_some());
    }
}
