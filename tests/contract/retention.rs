//! Deleting what finished long ago.

use std::time::Duration;

use workhost_queue::{Finish, ItemId, NewItem, Outcome, Periodic, Schedule, Status};

use crate::store::{TestStore, contract, contract_on, json, keyed, new};

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn finished(store: &TestStore, item: NewItem, outcome: Outcome, days_ago: u32) -> ItemId {
    let claim = store.running(item).await;
    store.queue.finish(&[Finish::new(claim.fence(), outcome)]).await.unwrap();
    store.age(claim.item.id, "finished_at", DAY * days_ago).await;
    claim.item.id
}

contract! {
    async fn old_finished_items_go_and_nothing_else(store) {
        let failed = Outcome::Failed { error: "broke".to_owned() };
        for outcome in [Outcome::Succeeded(None), failed, Outcome::Cancelled(None)] {
            finished(&store, new("a"), outcome, 31).await;
        }
        let young = finished(&store, new("a"), Outcome::Succeeded(None), 29).await;
        let running = store.running(new("r")).await.item.id;
        let queued = store.enqueue(new("q")).await;
        for id in [running, queued] {
            store.age(id, "created_at", DAY * 99).await;
            store.age(id, "updated_at", DAY * 99).await;
        }
        assert_eq!(store.queue.delete_finished(None, DAY * 30, 100).await.unwrap(), Some(3));
        for (id, status) in [(young, Status::Succeeded), (running, Status::Running), (queued, Status::Queued)] {
            assert_eq!(store.get(id).await.status, status);
        }
        assert_eq!(store.queue.delete_finished(None, DAY * 30, 100).await.unwrap(), Some(0));
    }

    async fn batches_are_bounded_and_the_oldest_go_first(store) {
        let mut ids = Vec::new();
        for days in [50, 70, 60] {
            ids.push(finished(&store, new("a"), Outcome::Succeeded(None), days).await);
        }
        assert_eq!(store.queue.delete_finished(None, DAY * 30, 2).await.unwrap(), Some(2));
        assert_eq!(store.get(ids[0]).await.status, Status::Succeeded);
        assert_eq!(store.queue.delete_finished(None, DAY * 30, 0).await.unwrap(), Some(0));
    }

    async fn an_attempt_deletes_only_while_it_holds_its_item(store) {
        finished(&store, new("a"), Outcome::Succeeded(None), 31).await;
        let claim = store.running(new("retention")).await;
        let stale = claim.fence();
        store.expire(stale.id).await;
        store.host().await.recover_expired(3, 100).await.unwrap();
        assert_eq!(store.queue.delete_finished(Some(stale), DAY * 30, 100).await.unwrap(), None);
        assert_eq!(store.number("select count(*) from work_items").await, 2);
        let holder = store.claim("retention").await.unwrap().fence();
        assert_eq!(store.queue.delete_finished(Some(holder), DAY * 30, 100).await.unwrap(), Some(1));
    }

    async fn retention_never_makes_a_schedule_due_early(store) {
        let periodic = Periodic { kind: "p".to_owned(), scope: None, payload: json("{}"), schedule: Schedule::Every(DAY * 365) };
        assert_eq!(store.queue.enqueue_due(std::slice::from_ref(&periodic)).await.unwrap().len(), 1);
        let claim = store.claim("p").await.unwrap();
        let done = Finish::new(claim.fence(), Outcome::Succeeded(None));
        store.queue.finish(&[done]).await.unwrap();
        store.age(claim.item.id, "finished_at", DAY * 200).await;
        // Run by hand since then, under the schedule's key: this is the newest now.
        let newest = finished(&store, keyed("p", "p"), Outcome::Succeeded(None), 100).await;
        finished(&store, keyed("other", "p"), Outcome::Succeeded(None), 100).await;
        assert_eq!(store.queue.delete_finished(None, DAY * 30, 100).await.unwrap(), Some(2));
        assert_eq!(store.get(newest).await.status, Status::Succeeded);
        assert_eq!(store.queue.enqueue_due(std::slice::from_ref(&periodic)).await.unwrap(), []);
        store.age(newest, "finished_at", DAY * 265).await;
        assert_eq!(store.queue.enqueue_due(&[periodic]).await.unwrap().len(), 1);
    }
}

contract_on! { Postgres:
    async fn a_deletion_that_is_refused_leaves_no_row_locked(store) {
        let claim = store.running(new("a")).await;
        let release = Finish::new(claim.fence(), Outcome::Released);
        store.queue.finish(&[release]).await.unwrap();
        for _ in 0..200 {
            assert_eq!(store.queue.delete_finished(Some(claim.fence()), DAY, 100).await.unwrap(), None);
            // A claim would skip it, and leave the item for the next poll.
            store.sql("select from work_items for update nowait").await;
        }
    }
}
