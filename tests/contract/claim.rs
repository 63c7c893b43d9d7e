//! Claiming.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Barrier;
use tokio::task::JoinSet;
use workhost_queue::{ClaimRequest, Filter, NewItem, Status};

use crate::store::{LEASE, ask, contract, ids, new, scoped};

contract! {
    async fn a_claim_takes_the_item_and_tells_all_of_it(store) {
        let id = store.enqueue(new("a")).await;
        let claim = store.queue.claim(&ask("host 7", &[("a", 1)])).await.unwrap().pop().unwrap();
        assert_eq!((claim.fence().id, claim.fence().attempt), (id, 1));
        let item = store.get(id).await;
        assert_eq!(serde_json::to_value(&claim.item).unwrap(), serde_json::to_value(&item).unwrap());
        assert_eq!((item.status, item.attempt), (Status::Running, 1));
        assert_eq!(item.host.as_deref(), Some("host 7"));
        assert_eq!(item.handler_digest.as_deref(), Some("sha256:a"));
        assert_eq!(item.lease_expires_at.unwrap() - item.started_at.unwrap(), LEASE);
        assert!(item.updated_at >= item.created_at && item.updated_at == item.started_at.unwrap());
        assert!(store.claim("a").await.is_none());
    }

    async fn claims_go_by_priority_then_run_at_then_id(store) {
        let late = store.enqueue(new("a")).await;
        let low = store.enqueue(NewItem { priority: -1, ..new("b") }).await;
        let tie = store.queue.enqueue(&[new("b"), new("a")]).await.unwrap();
        let high = store.enqueue(NewItem { priority: 5, ..new("a") }).await;
        let early = store.enqueue(new("b")).await;
        store.age(early, "run_at", Duration::from_secs(60)).await;
        store.age(late, "run_at", Duration::from_secs(0)).await;
        let claims = store.queue.claim(&ask("h", &[("a", 9), ("b", 9)])).await.unwrap();
        assert_eq!(ids(&claims), [high, early, late, tie[0].id(), tie[1].id(), low]);
    }

    async fn an_item_waits_for_its_time(store) {
        let id = store.enqueue(NewItem { delay: Duration::from_secs(30), priority: 9, ..new("a") }).await;
        let due = store.enqueue(new("a")).await;
        let claims = store.queue.claim(&ask("h", &[("a", 5)])).await.unwrap();
        assert_eq!(ids(&claims), [due]);
        store.age(id, "run_at", Duration::from_secs(30)).await;
        assert_eq!(store.claim("a").await.unwrap().item.id, id);
    }

    async fn unknown_kinds_are_left_alone(store) {
        let unknown = store.enqueue(NewItem { priority: 100, ..new("unknown") }).await;
        let before = store.get(unknown).await;
        store.enqueue(new("a")).await;
        let claims = store.queue.claim(&ask("h", &[("a", 5), ("b", 5)])).await.unwrap();
        assert_eq!(claims.len(), 1);
        let after = store.get(unknown).await;
        assert_eq!(serde_json::to_value(&before).unwrap(), serde_json::to_value(&after).unwrap());
        assert_eq!(store.queue.claim(&ask("h", &[])).await.unwrap().len(), 0);
    }

    async fn slots_of_each_kind_and_the_limit_hold(store) {
        let items: Vec<_> = ["a", "a", "a", "b", "b", "c"].iter().map(|kind| new(kind)).collect();
        let enqueued = store.queue.enqueue(&items).await.unwrap();
        let request = ClaimRequest { limit: 4, ..ask("h", &[("a", 2), ("b", 9), ("c", 9)]) };
        let claims = store.queue.claim(&request).await.unwrap();
        assert_eq!(ids(&claims), [0, 1, 3, 4].map(|place: usize| enqueued[place].id()));
        assert_eq!(store.queue.claim(&ClaimRequest { limit: 0, ..ask("h", &[("a", 2)]) }).await.unwrap().len(), 0);
    }

    async fn a_host_serves_only_its_scopes_and_items_without_one(store) {
        let mine = store.enqueue(scoped("a", "mine")).await;
        store.enqueue(NewItem { priority: 9, ..scoped("a", "other") }).await;
        let loose = store.enqueue(new("a")).await;
        let request = ClaimRequest {
            scopes: Some(vec!["mine".to_owned(), "mine".to_owned(), "nothing there".to_owned()]),
            ..ask("h", &[("a", 9)])
        };
        assert_eq!(ids(&store.queue.claim(&request).await.unwrap()), [mine, loose]);
        let request = ClaimRequest { scopes: Some(Vec::new()), ..ask("h", &[("a", 9)]) };
        let loose = store.enqueue(new("a")).await;
        assert_eq!(ids(&store.queue.claim(&request).await.unwrap()), [loose]);
    }

    async fn racing_claims_share_the_items_out(store) {
        let items: Vec<_> = (0..120).map(|_| new("a")).collect();
        store.queue.enqueue(&items).await.unwrap();
        let barrier = Arc::new(Barrier::new(6));
        let left = Arc::new(AtomicUsize::new(120));
        let mut racers = JoinSet::new();
        for racer in 0..6 {
            let (queue, barrier, left) = (store.host().await, Arc::clone(&barrier), Arc::clone(&left));
            racers.spawn(async move {
                let mut mine = Vec::new();
                barrier.wait().await;
                // Who loses a race gets less than it asked for, and asks again, as a host does at its next poll.
                while left.load(Ordering::SeqCst) > 0 {
                    let claims = queue.claim(&ask(&format!("h{racer}"), &[("a", 4)])).await.unwrap();
                    assert!(claims.len() <= 4);
                    left.fetch_sub(claims.len(), Ordering::SeqCst);
                    mine.extend(ids(&claims));
                }
                mine
            });
        }
        let claimed: Vec<_> = racers.join_all().await.into_iter().flatten().collect();
        assert_eq!(claimed.len(), 120);
        assert_eq!(claimed.iter().collect::<HashSet<_>>().len(), 120, "none was claimed twice");
        let running = Filter { statuses: vec![Status::Running], limit: 500, ..Filter::default() };
        assert!(store.queue.list(&running).await.unwrap().iter().all(|item| item.attempt == 1));
    }

    async fn a_claim_survives_a_restart(store) {
        let id = store.enqueue(new("a")).await;
        store.claim("a").await.unwrap();
        let again = store.host().await;
        again.migrate().await.unwrap();
        let item = again.get(id).await.unwrap().unwrap();
        assert_eq!((item.status, item.attempt), (Status::Running, 1));
        assert!(again.claim(&ask("b", &[("a", 1)])).await.unwrap().is_empty());
    }
}
