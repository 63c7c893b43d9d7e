//! What an attempt enqueues: its children.

use std::time::Duration;

use workhost_queue::{Enqueued, Fence, Finish, Outcome, Status};

use crate::store::{TestStore, contract, contract_on, keyed, new};

/// An attempt that has lost its item, in each of the ways in which that happens.
async fn zombies(store: &TestStore) -> Vec<(&'static str, Fence)> {
    let recovered = store.running(new("recovered")).await.fence();
    store.expire(recovered.id).await;
    let again = store.running(new("again")).await.fence();
    store.expire(again.id).await;
    store.host().await.recover_expired(3, 100).await.unwrap();
    store.claim("again").await.unwrap();
    let finished = store.running(new("finished")).await.fence();
    store.queue.finish(&[Finish::new(finished, Outcome::Succeeded(None))]).await.unwrap();
    let unknown = Fence { id: workhost_queue::ItemId(9999), attempt: 1 };
    vec![
        ("queued again", recovered),
        ("running as a later attempt", again),
        ("finished", finished),
        ("unknown", unknown),
    ]
}

contract! {
    async fn an_item_that_an_attempt_enqueues_names_its_parent(store) {
        let parent = store.running(new("parent")).await.fence();
        let answers = store.queue.enqueue_by(parent, &[new("child"), keyed("child", "k")]).await.unwrap().unwrap();
        for answer in &answers {
            let child = store.get(answer.id()).await;
            assert_eq!((child.parent_id, child.status, child.kind.as_str()), (Some(parent.id), Status::Queued, "child"));
        }
        assert_eq!(store.get(parent.id).await.parent_id, None);
        // An application's own item.
        assert_eq!(store.get(store.enqueue(new("child")).await).await.parent_id, None);
    }

    async fn an_item_that_was_there_keeps_the_parent_that_it_has(store) {
        let existing = store.enqueue(keyed("child", "k")).await;
        let parent = store.running(new("parent")).await.fence();
        let answers = store.queue.enqueue_by(parent, &[keyed("child", "k")]).await.unwrap();
        assert_eq!(answers, Some(vec![Enqueued::Existing(existing)]));
        assert_eq!(store.get(existing).await.parent_id, None);
    }

    async fn an_attempt_that_lost_its_item_enqueues_nothing(store) {
        for (how, zombie) in zombies(&store).await {
            let before = store.number("select count(*) from work_items").await;
            assert_eq!(store.queue.enqueue_by(zombie, &[new("child")]).await.unwrap(), None, "{how}");
            assert_eq!(store.number("select count(*) from work_items").await, before, "{how}");
        }
    }

    async fn an_attempt_whose_item_is_being_cancelled_may_still_enqueue(store) {
        let parent = store.running(new("parent")).await.fence();
        store.queue.cancel(parent.id).await.unwrap();
        assert!(store.queue.enqueue_by(parent, &[new("child")]).await.unwrap().is_some());
    }

    async fn children_outlive_their_parent(store) {
        let parent = store.running(new("parent")).await.fence();
        let child = store.queue.enqueue_by(parent, &[new("child")]).await.unwrap().unwrap()[0].id();
        store.queue.finish(&[Finish::new(parent, Outcome::Succeeded(None))]).await.unwrap();
        store.age(parent.id, "finished_at", Duration::from_secs(3600)).await;
        assert_eq!(store.queue.delete_finished(None, Duration::from_secs(60), 100).await.unwrap(), Some(1));
        assert_eq!(store.get(child).await.parent_id, Some(parent.id));
    }
}

contract_on! { Postgres:
    async fn an_attempt_whose_item_is_just_being_taken_away_enqueues_nothing(store) {
        let parent = store.running(new("parent")).await.fence();
        let mut taking = store.pg().begin().await.unwrap();
        sqlx::query("update work_items set status = 'queued', lease_expires_at = null, ended_as = 'stalled' where id = $1")
            .bind(parent.id.0)
            .execute(&mut *taking)
            .await
            .unwrap();
        let queue = store.host().await;
        let enqueueing = tokio::spawn(async move { queue.enqueue_by(parent, &[new("child")]).await });
        let waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
        while store.number(waits).await == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        taking.commit().await.unwrap();
        assert_eq!(enqueueing.await.unwrap().unwrap(), None);
        assert_eq!(store.number("select count(*) from work_items where kind = 'child'").await, 0);
    }

    async fn an_item_cannot_be_taken_away_before_what_its_attempt_enqueues_is_committed(store) {
        let parent = store.running(new("parent")).await.fence();
        store.expire(parent.id).await;
        // Somebody has enqueued the child's key and not committed yet: the attempt waits for that.
        let mut other = store.pg().begin().await.unwrap();
        sqlx::query("select workhost.enqueue('child', '{}', 'k')").execute(&mut *other).await.unwrap();
        let queue = store.host().await;
        let enqueueing = tokio::spawn(async move { queue.enqueue_by(parent, &[keyed("child", "k")]).await });
        let waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
        while store.number(waits).await == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(store.host().await.recover_expired(3, 100).await.unwrap().len(), 0);
        other.rollback().await.unwrap();
        assert!(matches!(enqueueing.await.unwrap().unwrap().as_deref(), Some([Enqueued::Created(_)])));
    }
}
