//! Measuring one thing on several stores, in turns.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use workhost_queue::{Claim, ClaimRequest, Finish, Json, KindSlots, LastChances, NewItem, Outcome, Queue};

use crate::backlog::Backlog;
use crate::database::Database;

/// How long one figure is taken for.
const TIME: Duration = Duration::from_millis(1500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Enqueue so many at once.
    Enqueue(u32),
    /// Claim so many and finish them, one host beside another.
    ClaimFinish(u32),
    /// The finish alone.
    Finish(u32),
}

impl Measure {
    pub(crate) const ALL: [Measure; 8] = [
        Measure::Enqueue(1),
        Measure::Enqueue(10),
        Measure::Enqueue(100),
        Measure::Enqueue(1000),
        Measure::ClaimFinish(1),
        Measure::ClaimFinish(10),
        Measure::ClaimFinish(100),
        Measure::ClaimFinish(500),
    ];
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Measure::Enqueue(n) => write!(f, "enqueue, {n} at once"),
            Measure::ClaimFinish(n) => write!(f, "claim + finish, {n} at once, 2 hosts"),
            Measure::Finish(n) => write!(f, "finish, {n} at once"),
        }
    }
}

/// The median rate on each store, in items a second.
pub(crate) async fn in_turns(stores: &[&Database], measure: Measure, rounds: usize) -> Vec<f64> {
    let mut rates = vec![Vec::new(); stores.len()];
    // The first round warms up: connections, statements, caches.
    for round in 0..=rounds {
        for (store, rates) in stores.iter().zip(&mut rates) {
            let rate = match measure {
                Measure::Enqueue(n) => enqueue(store, n).await,
                Measure::ClaimFinish(n) => claim_finish(store, n).await,
                Measure::Finish(n) => finish(store, n).await,
            };
            if round > 0 {
                rates.push(rate);
            }
        }
    }
    rates.into_iter().map(median).collect()
}

pub(crate) fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

async fn enqueue(store: &Database, n: u32) -> f64 {
    let started = Instant::now();
    let mut items = 0;
    while started.elapsed() < TIME {
        fill(&store.hosts[0], n).await;
        items += n;
    }
    let rate = f64::from(items) / started.elapsed().as_secs_f64();
    drain(store).await;
    rate
}

async fn claim_finish(store: &Database, n: u32) -> f64 {
    // More than two hosts can take in the time, since a host that finds nothing would be measured too.
    Backlog::Due.fill(store, u64::from(n * 2000).clamp(8_000, 80_000)).await;
    let started = Instant::now();
    let host = |queue: Arc<dyn Queue>| async move {
        let mut items = 0;
        while started.elapsed() < TIME {
            let claims = queue.claim(&request(n)).await.unwrap();
            if claims.is_empty() {
                break;
            }
            items += claims.len();
            queue.finish(&done(&claims)).await.unwrap();
        }
        items
    };
    let [first, second] = store.hosts.clone().map(|queue| tokio::spawn(host(queue)));
    let items = first.await.unwrap() + second.await.unwrap();
    let rate = items as f64 / started.elapsed().as_secs_f64();
    drain(store).await;
    rate
}

async fn finish(store: &Database, n: u32) -> f64 {
    let mut spent = Duration::ZERO;
    let mut items = 0;
    while spent < TIME {
        fill(&store.hosts[0], n).await;
        let claims = store.hosts[0].claim(&request(n)).await.unwrap();
        let started = Instant::now();
        store.hosts[0].finish(&done(&claims)).await.unwrap();
        spent += started.elapsed();
        items += n;
    }
    f64::from(items) / spent.as_secs_f64()
}

pub(crate) async fn fill(queue: &Arc<dyn Queue>, n: u32) {
    let items: Vec<_> = (0..n).map(|_| NewItem::new("measured", Json::parse(r#"{"n":1}"#).unwrap())).collect();
    queue.enqueue(&items).await.unwrap();
}

/// Ends what a measurement left over, at priority 0 and without a scope.
async fn drain(store: &Database) {
    let table = match store.engine {
        crate::database::Engine::Postgres => "workhost.work_items",
        crate::database::Engine::Sqlite => "work_items",
    };
    store
        .sql(&format!(
            "delete from {table} where status = 'queued' and scope is null and kind = 'measured' and priority = 0"
        ))
        .await;
    if store.engine == crate::database::Engine::Postgres {
        store.sql("vacuum workhost.work_items").await;
    }
}

pub(crate) fn request(n: u32) -> ClaimRequest {
    ClaimRequest {
        host: "h".to_owned(),
        kinds: vec![KindSlots { kind: "measured".to_owned(), slots: n, handler_digest: "sha256:0".to_owned() }],
        scopes: None,
        limit: n,
        lease: Duration::from_secs(600),
        last_chances: LastChances::default(),
    }
}

pub(crate) fn done(claims: &[Claim]) -> Vec<Finish> {
    let done = |claim: &Claim| Finish::new(claim.fence(), Outcome::Succeeded(None));
    claims.iter().map(done).collect()
}
