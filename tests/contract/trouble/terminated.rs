//! A server that ends all connections of a host, again and again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use workhost_queue::{
    Beat, ConnectOptions, Fence, Finish, ItemId, Outcome, Pulse, Queue, QueueError, Recorded, Result,
};

use super::held::wait_for_a_key;
use crate::store::{LEASE, TestStore, ask, contract_on, keyed};

/// How often the host's connections are ended, and how many times.
const EVERY: Duration = Duration::from_millis(500);
const TIMES: u32 = 20;

/// How long the host has to end its work afterwards.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a verb answered; nothing if the store was in trouble. Any other error is a failure.
fn answered<T>(answer: Result<T>, refused: &AtomicUsize) -> Option<T> {
    match answer {
        Ok(answer) => Some(answer),
        Err(QueueError::Unavailable { .. }) => {
            refused.fetch_add(1, Ordering::SeqCst);
            None
        }
        Err(error) => panic!("{error:?}"),
    }
}

/// Enqueues items, each with a key of its own, and answers which of them were answered.
async fn enqueue(host: Arc<dyn Queue>, name: usize, over: Arc<AtomicBool>, refused: Arc<AtomicUsize>) -> Vec<ItemId> {
    let mut ids = Vec::new();
    for n in 0.. {
        if over.load(Ordering::SeqCst) {
            break;
        }
        let enqueued = host.enqueue(&[keyed("a", &format!("{name} {n}"))]).await;
        ids.extend(answered(enqueued, &refused).map(|answers| answers[0].created().expect("a new key")));
    }
    ids
}

/// Claims, beats and finishes, as a worker does, until nothing is left.
async fn work(host: Arc<dyn Queue>, over: Arc<AtomicBool>, refused: Arc<AtomicUsize>) -> BTreeMap<Fence, u32> {
    let mut done: BTreeMap<Fence, u32> = BTreeMap::new();
    let mut held: Vec<Fence> = Vec::new();
    let mut lost_answer = false;
    let deadline = Instant::now() + EVERY * TIMES + PATIENCE;
    loop {
        assert!(Instant::now() < deadline, "{} held, {} done", held.len(), done.len());
        // What was claimed while the answer was lost comes first.
        let claimed =
            if lost_answer { host.claimed("h", &held, LEASE).await } else { host.claim(&ask("h", &[("a", 8)])).await };
        let claims = answered(claimed, &refused);
        let nothing_left = claims.as_ref().is_some_and(Vec::is_empty) && !lost_answer;
        lost_answer = claims.is_none();
        held.extend(claims.iter().flatten().map(|claim| claim.fence()));
        let beats: Vec<_> = held.iter().map(|fence| Beat { fence: *fence, progress: None }).collect();
        for pulse in answered(host.heartbeat(&beats, LEASE).await, &refused).iter().flatten() {
            assert!(matches!(pulse, Pulse::Alive | Pulse::Busy | Pulse::Lost), "{pulse:?}");
        }
        let finishes: Vec<_> = held.iter().map(|fence| Finish::new(*fence, Outcome::Succeeded(None))).collect();
        if let Some(answers) = answered(host.finish(&finishes).await, &refused) {
            for (fence, answer) in std::mem::take(&mut held).into_iter().zip(answers) {
                match answer {
                    Recorded::Recorded => *done.entry(fence).or_default() += 1,
                    Recorded::Busy => held.push(fence),
                    Recorded::Lost => panic!("nobody else has {fence}"),
                }
            }
        }
        if over.load(Ordering::SeqCst) && nothing_left && held.is_empty() {
            return done;
        }
    }
}

async fn terminate(store: &TestStore) {
    store
        .sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'victim' and datname = current_database()")
        .await;
}

contract_on! { Postgres:
    async fn a_host_whose_connections_are_ended_all_the_time_loses_and_doubles_nothing(store) {
        let host = store.host_with(ConnectOptions { application_name: "victim".to_owned(), ..Default::default() }).await;
        let (over, refused) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut enqueuers = JoinSet::new();
        for name in 0..3 {
            enqueuers.spawn(enqueue(Arc::clone(&host), name, Arc::clone(&over), Arc::clone(&refused)));
        }
        let worker = tokio::spawn(work(Arc::clone(&host), Arc::clone(&over), Arc::clone(&refused)));
        for _ in 0..TIMES {
            sleep(EVERY).await;
            terminate(&store).await;
        }
        over.store(true, Ordering::SeqCst);
        let enqueued: Vec<ItemId> = enqueuers.join_all().await.into_iter().flatten().collect();
        let done = worker.await.unwrap();
        assert!(refused.load(Ordering::SeqCst) > 0, "nobody ever noticed");
        assert!(done.iter().all(|(fence, times)| (fence.attempt, *times) == (1, 1)), "{done:?}");
        let missing: Vec<_> = enqueued.iter().filter(|id| !done.contains_key(&Fence { id: **id, attempt: 1 })).collect();
        assert!(missing.is_empty(), "{missing:?} of {}", enqueued.len());
        assert_eq!(store.number("select count(*) from work_items where status <> 'succeeded' or attempt <> 1").await, 0);
        assert_eq!(store.number("select count(*) - count(distinct dedup_key) from work_items").await, 0);
        assert_eq!(store.number("select count(*) from work_items").await, i64::try_from(done.len()).unwrap());
    }

    async fn a_connection_that_was_ended_under_a_verb_is_not_used_again(store) {
        let options = ConnectOptions { application_name: "victim".to_owned(), max_connections: 1, ..Default::default() };
        let host = store.host_with(options).await;
        let (holder, mut waiting) = wait_for_a_key(&store, &host, 1).await;
        terminate(&store).await;
        let answer = waiting.join_next().await.unwrap().unwrap();
        // At once: a connection that has just answered is not tested.
        host.counts().await.unwrap();
        assert!(matches!(answer, Err(QueueError::Unavailable { .. })), "{answer:?}");
        holder.rollback().await.unwrap();
    }
}
