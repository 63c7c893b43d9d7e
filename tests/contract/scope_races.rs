//! Many hosts at many scopes.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use tokio::sync::Barrier;
use tokio::task::JoinSet;
use workhost_queue::{Claim, Finish, NewItem, Outcome, Queue};

use crate::store::{Engine, ask, contract, contract_on, scoped};

async fn finish(queue: &Arc<dyn Queue>, claims: &[Claim]) {
    let done = |claim: &Claim| Finish::new(claim.fence(), Outcome::Succeeded(None));
    queue.finish(&claims.iter().map(done).collect::<Vec<_>>()).await.unwrap();
}

contract! {
    async fn three_claimers_never_overlap_in_a_thousand_scopes(store) {
        const SCOPES: usize = 1000;
        // One host a file: there the claimers are tasks of one, and a few items show as much.
        let each = if store.engine == Engine::Postgres { 50 } else { 3 };
        for _ in 0..each {
            let items: Vec<_> = (0..SCOPES).map(|n| scoped("a", &format!("scope {n}"))).collect();
            store.queue.enqueue(&items).await.unwrap();
        }
        let running: Arc<Mutex<HashSet<String>>> = Arc::default();
        let mut claimers = JoinSet::new();
        for claimer in 0..3 {
            let (queue, running) = (store.host().await, Arc::clone(&running));
            claimers.spawn(async move {
                let (mut done, mut empty) = (0, 0);
                while empty < 3 {
                    let claims = queue.claim(&ask(&format!("h{claimer}"), &[("a", 100)])).await.unwrap();
                    empty = if claims.is_empty() { empty + 1 } else { 0 };
                    let scopes: Vec<String> = claims.iter().map(|claim| claim.item.scope.clone().unwrap()).collect();
                    for scope in &scopes {
                        assert!(running.lock().unwrap().insert(scope.clone()), "{scope} runs twice");
                    }
                    tokio::task::yield_now().await;
                    for scope in &scopes {
                        running.lock().unwrap().remove(scope);
                    }
                    finish(&queue, &claims).await;
                    done += claims.len();
                }
                done
            });
        }
        assert_eq!(claimers.join_all().await.into_iter().sum::<usize>(), SCOPES * each);
        assert_eq!(store.number("select count(*) from work_items where attempt <> 1").await, 0, "waiting cost an attempt");
        let behind = "select count(*) from work_items w join work_items l on l.scope = w.scope and l.id > w.id and l.started_at < w.started_at";
        if store.engine == Engine::Postgres {
            assert_eq!(store.number(behind).await, 0, "the order within a scope was not kept");
        }
    }
}

contract_on! { Postgres:
    async fn two_claimers_of_the_same_scopes_in_opposite_order_never_deadlock(store) {
        let hosts = [store.host().await, store.host().await];
        for _ in 0..60 {
            // By priority, host a's batch begins with scope x and host b's with scope y.
            let item = |kind, scope, priority| NewItem { priority, ..scoped(kind, scope) };
            let items = [item("a", "x", 1), item("a", "y", 0), item("b", "y", 1), item("b", "x", 0)];
            store.queue.enqueue(&items).await.unwrap();
            let barrier = Arc::new(Barrier::new(2));
            let mut claimers = JoinSet::new();
            for (queue, kind) in hosts.iter().zip(["a", "b"]) {
                let (queue, barrier) = (Arc::clone(queue), Arc::clone(&barrier));
                claimers.spawn(async move {
                    barrier.wait().await;
                    queue.claim(&ask(kind, &[(kind, 9)])).await.unwrap()
                });
            }
            let claims: Vec<Claim> = claimers.join_all().await.into_iter().flatten().collect();
            let scopes: HashSet<_> = claims.iter().map(|claim| claim.item.scope.clone()).collect();
            assert_eq!((claims.len(), scopes.len()), (2, 2), "each scope runs one item: {claims:?}");
            finish(&store.queue, &claims).await;
            store.sql("delete from work_items").await;
        }
    }
}
