//! Claim and finish while another session keeps a transaction open: nothing that dies in the tables can be removed.

use std::time::{Duration, Instant};

use crate::database::{Database, Engine};
use crate::measure::{done, fill, median, request};
use crate::report::Line;

/// Items that pass between two figures.
const CHUNK: u32 = 10_000;
const BATCH: u32 = 100;

/// What a chunk took.
#[derive(Clone, Copy, Default)]
struct Took {
    claim: Duration,
    finish: Duration,
}

pub(crate) async fn lines(engine: Engine, items: u64) -> Vec<Line> {
    let store = Database::new(engine).await;
    // Warm: connections, statements, and what a new table costs at first.
    pass(&store).await;
    store.sql("analyze").await;
    let _held = store.hold().await;
    let chunks = (items / u64::from(CHUNK)).max(6);
    let mut took = Vec::new();
    for chunk in 1..=chunks {
        took.push(pass(&store).await);
        if chunk % 10 == 0 {
            eprintln!("{engine}: {} of {items} items passed beside an open transaction", chunk * u64::from(CHUNK));
        }
    }
    let rate = |part: &[Took], of: fn(&Took) -> Duration| {
        median(part.iter().map(|took| f64::from(CHUNK) / of(took).as_secs_f64()).collect())
    };
    let line = |what: &str, of: fn(&Took) -> Duration| {
        let (first, last) = (rate(&took[..3], of), rate(&took[took.len() - 3..], of));
        Line {
            engine,
            beside: format!("an open transaction while {items} items pass; against the first {}", 3 * CHUNK),
            what: format!("{what}, {BATCH} at once"),
            rate: last,
            ratio: Some(last / first),
        }
    };
    let lines = vec![line("claim", |took| took.claim), line("finish", |took| took.finish)];
    store.remove().await;
    lines
}

async fn pass(store: &Database) -> Took {
    let queue = &store.hosts[0];
    for _ in 0..CHUNK / 1000 {
        fill(queue, 1000).await;
    }
    let mut took = Took::default();
    for _ in 0..CHUNK / BATCH {
        let started = Instant::now();
        let claims = queue.claim(&request(BATCH)).await.unwrap();
        took.claim += started.elapsed();
        assert_eq!(claims.len(), BATCH as usize, "everything that is due is claimed");
        let started = Instant::now();
        queue.finish(&done(&claims)).await.unwrap();
        took.finish += started.elapsed();
    }
    took
}
