//! Verbs that nobody waits for any more, and connections that nobody uses.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use workhost_queue::{Beat, ConnectOptions, Fence, ItemId};

use super::held::{until, wait_for_a_key};
use super::wire::Wire;
use crate::store::{LEASE, ask, contract_on, keyed, new};

contract_on! { Postgres:
    async fn a_thousand_verbs_that_are_given_up_leave_nothing_behind(store) {
        let options = ConnectOptions { application_name: "giver".to_owned(), ..Default::default() };
        let host = store.host_with(options).await;
        let mut givers = JoinSet::new();
        for giver in 0..8 {
            let host = Arc::clone(&host);
            givers.spawn(async move {
                for n in 0..125_u64 {
                    // At any point: before a connection is there, while it opens, in the middle, or after the answer.
                    let limit = Duration::from_micros(n * 200);
                    let beat = Beat { fence: Fence { id: ItemId(1), attempt: 1 }, progress: None };
                    let request = ask(&format!("h{giver}"), &[("a", 1)]);
                    let _ = match n % 20 {
                        0..5 => timeout(limit, async { host.claim(&request).await.map(drop) }).await,
                        5..10 => timeout(limit, async { host.heartbeat(&[beat], LEASE).await.map(drop) }).await,
                        10..13 => timeout(limit, async { host.enqueue(&[keyed("a", "k"), new("a")]).await.map(drop) }).await,
                        13..16 => timeout(limit, async { host.cancel(ItemId(1)).await.map(drop) }).await,
                        _ => timeout(limit, async { host.list(&Default::default()).await.map(drop) }).await,
                    };
                }
            });
        }
        givers.join_all().await;
        for _ in 0..5 {
            // In the middle of a transaction.
            let (holder, mut waiting) = wait_for_a_key(&store, &host, 8).await;
            waiting.shutdown().await;
            holder.rollback().await.unwrap();
            until!(store.number("select count(*) from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'giver'").await == 0);
        }
        // Those that may be kept, one for heartbeats, and one that listens.
        let left = "select greatest(0, count(*) - 10) + count(*) filter (where state <> 'idle')
            from pg_stat_activity where application_name = 'giver' and datname = current_database()";
        until!(store.number(left).await == 0);
        host.enqueue(&[new("a")]).await.unwrap();
    }

    async fn a_connection_that_died_at_rest_is_replaced_before_a_verb_meets_it(store) {
        let host = store.host_with(ConnectOptions { application_name: "rester".to_owned(), ..Default::default() }).await;
        let id = store.enqueue(new("a")).await;
        for _ in 0..3 {
            host.get(id).await.unwrap();
            store.sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'rester'").await;
            let left = "select count(*) from pg_stat_activity where application_name = 'rester' and query not ilike 'listen%'";
            until!(store.number(left).await == 0);
            // So long that it is tested before it is used.
            sleep(Duration::from_millis(150)).await;
            host.get(id).await.unwrap();
        }
    }

    async fn a_verb_after_another_costs_one_round(store) {
        let wire = Wire::new(&store).await;
        let host = wire.host(Default::default()).await.unwrap();
        let id = store.enqueue(new("a")).await;
        host.get(id).await.unwrap();
        let before = wire.asked();
        for _ in 0..50 {
            host.get(id).await.unwrap();
        }
        let asked = wire.asked() - before;
        // One that rested, on a slow machine, is tested.
        assert!((50..75).contains(&asked), "{asked} rounds for 50 verbs");
    }
}
