//! Handing an item back while another with its key is queued.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Barrier;
use workhost_queue::{Claim, Finish, Outcome, Recorded, Status};

use crate::store::{TestStore, contract, keyed};

/// Two running items of one key, which is legal: only queued ones coalesce.
async fn two_running(store: &TestStore) -> [Claim; 2] {
    [store.running(keyed("a", "k")).await, store.running(keyed("a", "k")).await]
}

async fn assert_one_queued(store: &TestStore, queued: &Claim, superseded: &Claim) {
    let item = store.get(queued.item.id).await;
    assert_eq!((item.status, item.reason), (Status::Queued, None));
    let item = store.get(superseded.item.id).await;
    assert_eq!((item.status, item.reason.as_deref()), (Status::Cancelled, Some("superseded")));
    assert!(item.finished_at.is_some() && item.cancel_requested_at.is_none());
}

contract! {
    async fn a_released_item_gives_way_to_the_queued_one(store) {
        for outcome in [Outcome::Released, Outcome::Retry { error: "last".to_owned(), delay: Duration::ZERO }] {
            let claim = store.running(keyed("a", "k")).await;
            let queued = store.enqueue(keyed("a", "k")).await;
            let finish = Finish::new(claim.fence(), outcome.clone());
            assert_eq!(store.queue.finish(std::slice::from_ref(&finish)).await.unwrap(), [Recorded::Recorded]);
            assert_eq!(store.queue.finish(&[finish]).await.unwrap(), [Recorded::Recorded], "its answer may have been lost");
            let item = store.get(claim.item.id).await;
            assert_eq!((item.status, item.reason.as_deref()), (Status::Cancelled, Some("superseded")));
            let kept = matches!(outcome, Outcome::Retry { .. }).then_some("last");
            assert_eq!(item.error.as_deref(), kept, "it keeps its last error");
            assert_eq!(store.get(queued).await.status, Status::Queued);
            store.queue.cancel(queued).await.unwrap();
        }
    }

    async fn of_two_released_in_one_batch_one_is_queued(store) {
        let [first, second] = two_running(&store).await;
        let released = [&second, &first].map(|claim| Finish::new(claim.fence(), Outcome::Released));
        assert_eq!(store.queue.finish(&released).await.unwrap(), [Recorded::Recorded; 2]);
        let statuses = [store.get(first.item.id).await.status, store.get(second.item.id).await.status];
        match statuses {
            [Status::Queued, _] => assert_one_queued(&store, &first, &second).await,
            _ => assert_one_queued(&store, &second, &first).await,
        }
    }

    async fn of_two_recovered_in_one_sweep_one_is_queued(store) {
        let [first, second] = two_running(&store).await;
        let other = store.running(keyed("a", "other")).await;
        for claim in [&first, &second, &other] {
            store.expire(claim.item.id).await;
        }
        let recovered = store.host().await.recover_expired(3, 100).await.unwrap();
        assert_eq!(recovered.len(), 3);
        assert_one_queued(&store, &first, &second).await;
        assert_eq!(store.get(other.item.id).await.status, Status::Queued, "the sweep is unharmed");
    }

    async fn a_recovered_item_gives_way_to_the_queued_one(store) {
        let claim = store.running(keyed("a", "k")).await;
        let queued = store.enqueue(keyed("a", "k")).await;
        store.expire(claim.item.id).await;
        let recovered = store.host().await.recover_expired(3, 100).await.unwrap();
        assert_eq!((recovered[0].status, recovered[0].stalls), (Status::Cancelled, 1));
        assert_eq!(store.get(claim.item.id).await.reason.as_deref(), Some("superseded"));
        assert_eq!(store.get(queued).await.status, Status::Queued);
    }

    async fn recovery_and_release_racing_an_enqueue_leave_one_queued(store) {
        let (recoverer, releaser, enqueuer) = (store.host().await, Arc::clone(&store.queue), store.host().await);
        for round in 0..25 {
            let key = format!("key {round}");
            let [lost, released] = [store.running(keyed("a", &key)).await, store.running(keyed("a", &key)).await];
            store.expire(lost.item.id).await;
            let barrier = Arc::new(Barrier::new(3));
            let recovery = tokio::spawn({
                let (queue, barrier) = (Arc::clone(&recoverer), Arc::clone(&barrier));
                async move {
                    barrier.wait().await;
                    // A row that others hold for too long is left for the next sweep.
                    loop {
                        let recovered = queue.recover_expired(3, 100).await.unwrap();
                        if !recovered.is_empty() {
                            return recovered;
                        }
                    }
                }
            });
            let release = tokio::spawn({
                let (queue, barrier) = (Arc::clone(&releaser), Arc::clone(&barrier));
                let finish = Finish::new(released.fence(), Outcome::Released);
                async move { barrier.wait().await; queue.finish(&[finish]).await.unwrap() }
            });
            barrier.wait().await;
            let answer = enqueuer.enqueue(&[keyed("a", &key)]).await.unwrap();
            assert_eq!(release.await.unwrap(), [Recorded::Recorded]);
            assert_eq!(recovery.await.unwrap().len(), 1);
            let of_key = |status| format!("select count(*) from work_items where dedup_key = '{key}' and status = '{status}'");
            assert_eq!(store.number(of_key("queued")).await, 1);
            assert_eq!(store.number(of_key("running")).await, 0);
            let queued = store.get(answer[0].id()).await;
            assert_eq!(queued.status, Status::Queued, "what enqueue answered is what is queued");
            store.queue.cancel(queued.id).await.unwrap();
        }
    }
}
