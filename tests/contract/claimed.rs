//! Claims whose answer was lost on the way are answered again.

use std::time::Duration;

use workhost_queue::{CancelAnswer, Claim, Finish, NewItem, Outcome, Recorded, Status};

use crate::store::{LEASE, TestStore, ask, contract, contract_on, ids, new};

/// Claims for a host, and lets the answer be lost; answers what was claimed in the order of claims.
async fn lost(store: &TestStore, host: &str, items: &[NewItem]) -> Vec<workhost_queue::ItemId> {
    store.queue.enqueue(items).await.unwrap();
    let claims = store.queue.claim(&ask(host, &[("a", items.len().try_into().unwrap())])).await.unwrap();
    assert_eq!(claims.len(), items.len());
    ids(&claims)
}

/// What a host holds and knows nothing of.
async fn claimed(store: &TestStore, host: &str) -> Vec<Claim> {
    store.queue.claimed(host, &[], LEASE).await.unwrap()
}

contract! {
    async fn a_claim_whose_answer_was_lost_is_answered_again_with_a_new_lease(store) {
        let lost = lost(&store, "h", &[new("a"), NewItem { priority: 1, ..new("a") }, new("a")]).await;
        for id in &lost {
            store.age(*id, "updated_at", Duration::from_secs(100)).await;
            store.expire(*id).await;
        }
        let before = store.get(lost[0]).await;
        let changed = store.number("select count(distinct changed) from work_items").await;
        let claims = store.queue.claimed("h", &[], LEASE * 2).await.unwrap();
        assert_eq!(ids(&claims), lost, "in the order of claims");
        let after = store.get(lost[0]).await;
        assert_eq!(serde_json::to_value(&claims[0].item).unwrap(), serde_json::to_value(&after).unwrap());
        assert!(after.lease_expires_at.unwrap() >= before.lease_expires_at.unwrap() + LEASE * 2);
        assert_eq!((after.attempt, after.status), (1, Status::Running));
        assert_eq!((after.updated_at, after.started_at), (before.updated_at, before.started_at), "nobody sees it");
        assert_eq!(store.number("select count(distinct changed) from work_items").await, changed);
        assert_eq!(store.host().await.recover_expired(1, 10).await.unwrap(), [], "the new lease holds");
        let done: Vec<_> = claims.iter().map(|claim| Finish::new(claim.fence(), Outcome::Succeeded(None))).collect();
        assert_eq!(store.queue.finish(&done).await.unwrap(), [Recorded::Recorded; 3]);
        assert_eq!(claimed(&store, "h").await.len(), 0, "what is finished is not answered");
    }

    async fn what_a_host_knows_of_is_not_answered_and_keeps_its_lease(store) {
        let held = lost(&store, "h", &[new("a"), new("a")]).await;
        let known = claimed(&store, "h").await[0].fence();
        assert_eq!(known.id, held[0]);
        let before = store.get(known.id).await.lease_expires_at;
        assert_eq!(ids(&store.queue.claimed("h", &[known], LEASE * 2).await.unwrap()), held[1..]);
        assert_eq!(store.get(known.id).await.lease_expires_at, before);
    }

    async fn what_others_hold_is_not_answered(store) {
        let lost = lost(&store, "h boot 1", &[new("a")]).await;
        for other in ["h boot 2", "h", "H BOOT 1", "h boot 1 "] {
            assert_eq!(claimed(&store, other).await.len(), 0, "{other}");
        }
        store.expire(lost[0]).await;
        let other = store.host().await;
        other.recover_expired(3, 10).await.unwrap();
        assert_eq!(claimed(&store, "h boot 1").await.len(), 0, "it waits in the queue again");
        let theirs = other.claim(&ask("h boot 2", &[("a", 1)])).await.unwrap().pop().unwrap();
        assert_eq!(claimed(&store, "h boot 1").await.len(), 0, "another holds it");
        assert_eq!(ids(&claimed(&store, "h boot 2").await), [theirs.item.id]);
    }

    async fn a_later_attempt_at_a_known_item_is_answered(store) {
        let first = store.running(new("a")).await;
        store.expire(first.item.id).await;
        store.host().await.recover_expired(3, 10).await.unwrap();
        drop(store.claim("a").await.unwrap());
        let again = store.queue.claimed("a", &[first.fence()], LEASE).await.unwrap();
        assert_eq!((again[0].item.id, again[0].item.attempt), (first.item.id, 2));
    }

    async fn a_requested_cancel_is_told_with_the_claim(store) {
        let lost = lost(&store, "h", &[new("a")]).await;
        assert_eq!(store.queue.cancel(lost[0]).await.unwrap(), CancelAnswer::Requested);
        assert!(claimed(&store, "h").await[0].item.cancel_requested_at.is_some());
    }
}

contract_on! { Postgres:
    async fn a_claim_whose_row_is_locked_is_answered_by_a_later_call(store) {
        let lost = lost(&store, "h", &[new("a"), new("a")]).await;
        let mut somebody = store.pg().begin().await.unwrap();
        sqlx::query("select from work_items where id = $1 for update").bind(lost[0].0).execute(&mut *somebody).await.unwrap();
        assert_eq!(ids(&claimed(&store, "h").await), lost[1..]);
        somebody.rollback().await.unwrap();
        assert_eq!(ids(&claimed(&store, "h").await), lost);
    }
}

contract_on! { Sqlite:
    async fn the_owner_of_a_file_never_recovers_what_was_answered_again(store) {
        store.enqueue(new("a")).await;
        // By another value, so that this one has heard of nothing.
        drop(store.host().await.claim(&ask("h", &[("a", 1)])).await.unwrap());
        let claim = claimed(&store, "h").await.pop().unwrap();
        store.expire(claim.item.id).await;
        assert_eq!(store.queue.recover_expired(3, 10).await.unwrap(), []);
    }
}
