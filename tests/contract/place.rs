//! A host remembers where the queue begins; what comes before that later has its place in line all the same.

use std::time::Duration;

use workhost_queue::{Finish, ItemId, NewItem, Outcome};

use crate::store::{TestStore, ask, contract, contract_on, ids, new, scoped};

/// Lets the store's own host claim so much that it knows the queue to begin at `next`.
async fn claim_up_to(store: &TestStore, next: NewItem) -> ItemId {
    for _ in 0..3 {
        store.running(NewItem { scope: None, ..next.clone() }).await;
    }
    store.enqueue(next).await
}

async fn take(store: &TestStore, n: u32) -> Vec<ItemId> {
    ids(&store.queue.claim(&ask("h", &[("a", n)])).await.unwrap())
}

contract! {
    async fn an_item_that_is_handed_back_keeps_its_place(store) {
        for outcome in [Outcome::Released, Outcome::Retry { error: "e".to_owned(), delay: Duration::ZERO }] {
            let first = store.running(new("a")).await;
            let next = claim_up_to(&store, new("a")).await;
            assert_eq!(take(&store, 1).await, [next]);
            let later = store.enqueue(new("a")).await;
            // So that a retry, which is due from now on, is due later than that one also where a clock counts milliseconds.
            tokio::time::sleep(Duration::from_millis(5)).await;
            let retried = matches!(outcome, Outcome::Retry { .. });
            store.queue.finish(&[Finish::new(first.fence(), outcome)]).await.unwrap();
            let id = first.fence().id;
            assert_eq!(take(&store, 2).await, if retried { [later, id] } else { [id, later] });
        }
    }

    async fn an_item_that_stalled_keeps_its_place(store) {
        let first = store.running(new("a")).await.fence().id;
        let next = claim_up_to(&store, new("a")).await;
        assert_eq!(take(&store, 1).await, [next]);
        let later = store.enqueue(new("a")).await;
        store.expire(first).await;
        // By another host: this one would know that its attempt lives, on SQLite.
        store.host().await.recover_expired(3, 10).await.unwrap();
        assert_eq!(take(&store, 2).await, [first, later]);
    }

    async fn an_item_that_a_person_moves_gets_its_new_place(store) {
        for (column, value) in [("priority", "1"), ("kind", "'a'"), ("scope", "'s'")] {
            let next = claim_up_to(&store, new("a")).await;
            let kind = if column == "kind" { "b" } else { "a" };
            let moved = store.enqueue(scoped(kind, "t")).await;
            store.age(moved, "run_at", Duration::from_secs(if column == "priority" { 0 } else { 60 })).await;
            // Nothing of the moved item's new lane is known.
            assert_eq!(store.queue.claim(&ask("h", &[("none", 1)])).await.unwrap().len(), 0);
            store.sql(format!("update work_items set {column} = {value} where id = {moved}", moved = moved.0)).await;
            assert_eq!(take(&store, 9).await, [moved, next], "{column}");
            store.sql("delete from work_items").await;
        }
    }

    async fn an_item_that_becomes_due_is_seen_in_its_place(store) {
        let soon = NewItem { delay: Duration::from_millis(2000), priority: 1, ..new("a") };
        let soon = [store.enqueue(soon.clone()).await, store.enqueue(NewItem { scope: Some("s".to_owned()), ..soon }).await];
        let next = claim_up_to(&store, new("a")).await;
        tokio::time::sleep(Duration::from_millis(2050)).await;
        assert_eq!(take(&store, 9).await, [soon[0], soon[1], next]);
    }
}

contract_on! { Postgres:
    async fn an_item_whose_transaction_commits_late_is_not_missed(store) {
        // The first look happens before the transaction has begun, while it runs, or after it has written.
        for begun in 0..3 {
            for item in [new("a"), scoped("a", "s"), NewItem { priority: -1, ..new("a") }] {
                let claims = async || {
                    claim_up_to(&store, new("a")).await;
                };
                let queue = store.host().await;
                if begun == 0 {
                    queue.claim(&ask("h", &[("a", 1)])).await.unwrap();
                }
                let mut late = store.pg().begin().await.unwrap();
                sqlx::query("select now()").execute(&mut *late).await.unwrap();
                if begun == 1 {
                    queue.claim(&ask("h", &[("a", 1)])).await.unwrap();
                }
                let (id,): (i64,) = sqlx::query_as("select id from workhost.enqueue('a', '{}', scope => $1, priority => $2)")
                    .bind(&item.scope)
                    .bind(item.priority)
                    .fetch_one(&mut *late)
                    .await
                    .unwrap();
                // Others come and go meanwhile, in transactions that begin later and end earlier.
                for _ in 0..3 {
                    claims().await;
                    queue.claim(&ask("h", &[("a", 1)])).await.unwrap();
                }
                late.commit().await.unwrap();
                let got = queue.claim(&ask("h", &[("a", 9)])).await.unwrap();
                assert!(ids(&got).contains(&ItemId(id)), "{begun}, {item:?}: {got:?}");
                if item.priority == 0 {
                    let first = got.iter().map(|claim| claim.item.run_at).min().unwrap();
                    assert_eq!(got[0].item.run_at, first, "{begun}, {item:?}: {got:?}");
                    assert_eq!(got[0].item.id, ItemId(id), "it has been due for longest");
                }
                store.sql("delete from work_items").await;
            }
        }
    }
}

contract_on! { Sqlite:
    async fn a_store_that_was_put_back_is_looked_at_anew(store) {
        let later = || NewItem { delay: Duration::from_secs(3600), ..new("a") };
        let ids = [store.enqueue(later()).await, store.enqueue(later()).await];
        assert_eq!(take(&store, 1).await, [], "it knows now where the queue begins");
        // As an older copy of the file has it: fewer changes were made, and one of these items is due.
        store.sql(format!("update work_items set changed = 1 - id, run_at = iif(id = {}, 0, run_at)", ids[1].0)).await;
        assert_eq!(take(&store, 1).await, ids[1..]);
    }
}
