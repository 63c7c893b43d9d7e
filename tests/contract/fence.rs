//! The fence: an attempt that lost its item changes nothing.

use std::time::Duration;

use workhost_queue::{Beat, Fence, Finish, ItemId, Outcome, Pulse, Recorded};

use crate::store::{LEASE, TestStore, ask, contract, json, new};

fn outcomes() -> Vec<Outcome> {
    vec![
        Outcome::Succeeded(Some(json("1"))),
        Outcome::Failed { error: "zombie".to_owned() },
        Outcome::Cancelled(Some(json("1"))),
        Outcome::Released,
        Outcome::Retry { error: "zombie".to_owned(), delay: Duration::ZERO },
    ]
}

/// Tries every verb of a host with this fence, and asserts that nothing changes.
async fn assert_powerless(store: &TestStore, fence: Fence) {
    let before = serde_json::to_value(store.queue.get(fence.id).await.unwrap()).unwrap();
    let progress = Some(json("\"zombie\""));
    let beat = Beat { fence, progress: progress.clone() };
    assert_eq!(store.queue.heartbeat(&[beat], LEASE).await.unwrap(), [Pulse::Lost]);
    for outcome in outcomes() {
        let finish = Finish { progress: progress.clone(), ..Finish::new(fence, outcome.clone()) };
        assert_eq!(store.queue.finish(&[finish]).await.unwrap(), [Recorded::Lost], "{outcome:?}");
    }
    let deleted = store.queue.delete_finished(Some(fence), Duration::ZERO, 100).await.unwrap();
    assert_eq!(deleted, None);
    let after = serde_json::to_value(store.queue.get(fence.id).await.unwrap()).unwrap();
    assert_eq!(before, after);
}

contract! {
    async fn a_stale_attempt_cannot_write_once_another_runs(store) {
        let stale = store.running(new("a")).await;
        store.expire(stale.item.id).await;
        let other = store.host().await;
        assert_eq!(other.recover_expired(3, 100).await.unwrap().len(), 1);
        let current = other.claim(&ask("b", &[("a", 1)])).await.unwrap().pop().unwrap();
        assert_eq!(current.fence().attempt, 2);
        assert_powerless(&store, stale.fence()).await;
        assert_eq!(other.heartbeat(&[Beat { fence: current.fence(), progress: None }], LEASE).await.unwrap(), [Pulse::Alive]);
    }

    async fn a_stale_attempt_cannot_write_while_the_item_is_queued_again(store) {
        let stale = store.running(new("a")).await;
        store.expire(stale.item.id).await;
        store.host().await.recover_expired(3, 100).await.unwrap();
        assert_powerless(&store, stale.fence()).await;
    }

    async fn an_attempt_that_stalled_for_good_cannot_write(store) {
        let stale = store.running(new("a")).await;
        store.expire(stale.item.id).await;
        store.host().await.recover_expired(1, 100).await.unwrap();
        assert_powerless(&store, stale.fence()).await;
    }

    async fn attempts_that_never_were_cannot_write(store) {
        let claim = store.running(new("a")).await;
        let Fence { id, attempt } = claim.fence();
        assert_powerless(&store, Fence { id, attempt: attempt + 1 }).await;
        assert_powerless(&store, Fence { id, attempt: 0 }).await;
        assert_powerless(&store, Fence { id, attempt: u32::MAX }).await;
        assert_powerless(&store, Fence { id: ItemId(id.0 + 1), attempt: 1 }).await;
        let queued = store.enqueue(new("b")).await;
        assert_powerless(&store, Fence { id: queued, attempt: 0 }).await;
    }

    async fn a_finished_item_never_changes_again(store) {
        for first in outcomes() {
            let claim = store.running(new("a")).await;
            let finish = |outcome: &Outcome| Finish::new(claim.fence(), outcome.clone());
            assert_eq!(store.queue.finish(&[finish(&first)]).await.unwrap(), [Recorded::Recorded]);
            let before = serde_json::to_value(store.get(claim.item.id).await).unwrap();
            for second in outcomes() {
                let answer = store.queue.finish(&[finish(&second)]).await.unwrap();
                let expected = if second == first { Recorded::Recorded } else { Recorded::Lost };
                assert_eq!(answer, [expected], "{second:?} after {first:?}");
            }
            let beat = Beat { fence: claim.fence(), progress: Some(json("\"late\"")) };
            assert_eq!(store.queue.heartbeat(&[beat], LEASE).await.unwrap(), [Pulse::Lost]);
            assert_eq!(before, serde_json::to_value(store.get(claim.item.id).await).unwrap(), "{first:?}");
            store.queue.cancel(claim.item.id).await.unwrap();
        }
    }
}
