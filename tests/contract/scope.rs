//! One running item per scope.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Barrier;
use tokio::task::JoinSet;
use workhost_queue::{Finish, NewItem, Outcome};

use crate::store::{ask, contract, contract_on, ids, new, scoped};

contract! {
    async fn a_scope_runs_one_item_at_a_time_in_order(store) {
        let items: Vec<_> = (0..4).map(|_| scoped("a", "s")).collect();
        let enqueued = store.queue.enqueue(&items).await.unwrap();
        for expected in enqueued {
            let claims = store.queue.claim(&ask("h", &[("a", 9)])).await.unwrap();
            assert_eq!(ids(&claims), [expected.id()]);
            assert!(store.host().await.claim(&ask("other", &[("a", 9)])).await.unwrap().is_empty());
            let done = Finish::new(claims[0].fence(), Outcome::Succeeded(None));
            store.queue.finish(&[done]).await.unwrap();
        }
        assert_eq!(store.number("select count(*) from work_items where attempt <> 1").await, 0, "waiting cost an attempt");
    }

    async fn a_batch_takes_the_head_of_each_scope(store) {
        let mut items = Vec::new();
        for place in 0..3 {
            for scope in ["x", "y", "z"] {
                items.push(NewItem { priority: place, ..scoped("a", scope) });
            }
        }
        let enqueued = store.queue.enqueue(&items).await.unwrap();
        let loose = store.enqueue(new("a")).await;
        let claims = store.queue.claim(&ask("h", &[("a", 9)])).await.unwrap();
        let heads = [6, 7, 8].map(|place: usize| enqueued[place].id());
        assert_eq!(ids(&claims), [heads[0], heads[1], heads[2], loose]);
    }

    async fn an_item_that_this_host_cannot_run_holds_up_no_other_of_its_scope(store) {
        store.enqueue(NewItem { priority: 9, ..scoped("unknown", "s") }).await;
        store.enqueue(NewItem { priority: 8, delay: Duration::from_secs(60), ..scoped("a", "s") }).await;
        store.enqueue(NewItem { priority: 7, ..scoped("full", "s") }).await;
        let next = store.enqueue(scoped("a", "s")).await;
        assert_eq!(ids(&store.queue.claim(&ask("h", &[("a", 5)])).await.unwrap()), [next]);
    }

    async fn items_without_a_scope_are_not_serialised(store) {
        store.queue.enqueue(&[new("a"), new("a"), new("a")]).await.unwrap();
        assert_eq!(store.queue.claim(&ask("h", &[("a", 9)])).await.unwrap().len(), 3);
    }

    async fn racing_hosts_never_overlap_in_a_scope(store) {
        const SCOPES: usize = 12;
        const EACH: usize = 6;
        let items: Vec<_> = (0..SCOPES * EACH).map(|n| scoped(["a", "b"][n % 2], &format!("scope {}", n % SCOPES))).collect();
        store.queue.enqueue(&items).await.unwrap();
        let running: Arc<Mutex<HashMap<String, u32>>> = Arc::default();
        let barrier = Arc::new(Barrier::new(4));
        let mut racers = JoinSet::new();
        for (racer, kinds) in [vec![("a", 3), ("b", 3)], vec![("b", 3), ("a", 3)], vec![("a", 4)], vec![("b", 4)]].into_iter().enumerate() {
            let (queue, barrier, running) = (store.host().await, Arc::clone(&barrier), Arc::clone(&running));
            racers.spawn(async move {
                barrier.wait().await;
                let mut done = 0;
                let mut empty = 0;
                while empty < 20 {
                    let claims = queue.claim(&ask(&format!("h{racer}"), &kinds)).await.unwrap();
                    empty = if claims.is_empty() { empty + 1 } else { 0 };
                    for claim in &claims {
                        let scope = claim.item.scope.clone().unwrap();
                        let before = running.lock().unwrap().insert(scope.clone(), claim.item.attempt);
                        assert_eq!(before, None, "{scope} runs twice");
                    }
                    tokio::time::sleep(Duration::from_millis(3)).await;
                    let finishes: Vec<_> = claims
                        .iter()
                        .map(|claim| Finish::new(claim.fence(), Outcome::Succeeded(None)))
                        .collect();
                    for claim in &claims {
                        running.lock().unwrap().remove(claim.item.scope.as_deref().unwrap());
                    }
                    queue.finish(&finishes).await.unwrap();
                    done += claims.len();
                }
                done
            });
        }
        assert_eq!(racers.join_all().await.into_iter().sum::<usize>(), SCOPES * EACH);
        assert_eq!(store.number("select count(*) from work_items where attempt <> 1").await, 0, "waiting cost an attempt");
    }
}

contract_on! { Postgres:
    async fn a_claim_that_loses_a_scope_keeps_the_rest_of_its_batch(store) {
        let for_a = store.enqueue(scoped("a", "contested")).await;
        let for_b = store.enqueue(scoped("b", "contested")).await;
        let other = store.enqueue(scoped("b", "other")).await;
        let loose = store.enqueue(new("b")).await;
        // Host a has claimed, and has not committed yet.
        let mut host_a = store.pg().begin().await.unwrap();
        sqlx::query(
            "update work_items set status = 'running', attempt = 1, host = 'a', started_at = now(), lease_expires_at = now() + interval '1 minute'
            where id = $1",
        )
        .bind(for_a.0)
        .execute(&mut *host_a)
        .await
        .unwrap();
        let queue = store.host().await;
        let host_b = tokio::spawn(async move { queue.claim(&ask("b", &[("b", 9)])).await });
        let blocked = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%update workhost.work_items%'";
        while store.number(blocked).await == 0 {
            assert!(!host_b.is_finished(), "host b did not wait on the index");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        host_a.commit().await.unwrap();
        assert_eq!(ids(&host_b.await.unwrap().unwrap()), [other, loose]);
        assert_eq!(store.get(for_b).await.attempt, 0, "losing cost an attempt");
    }

    async fn a_scope_that_another_host_takes_for_long_delays_only_itself(store) {
        let for_a = store.enqueue(scoped("a", "contested")).await;
        store.enqueue(scoped("b", "contested")).await;
        let others = [store.enqueue(scoped("b", "other")).await, store.enqueue(new("b")).await];
        let mut host_a = store.pg().begin().await.unwrap();
        sqlx::query(
            "update work_items set status = 'running', attempt = 1, host = 'a', started_at = now(), lease_expires_at = now() + interval '1 minute'
            where id = $1",
        )
        .bind(for_a.0)
        .execute(&mut *host_a)
        .await
        .unwrap();
        let asked = std::time::Instant::now();
        assert_eq!(ids(&store.queue.claim(&ask("b", &[("b", 9)])).await.unwrap()), others);
        assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
        host_a.rollback().await.unwrap();
    }
}
