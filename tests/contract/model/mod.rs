//! Random sequences of all verbs by several hosts, on each store, beside a small reference of the queue in memory.
//!
//! `WORKHOST_MODEL_CASES` is the number of sequences on each store. The seeds of sequences that once failed are kept
//! and tried first.

mod aging;
mod compare;
mod draw;
mod ending;
mod follower;
mod invariants;
mod look;
mod people;
mod queued;
mod records;
mod reference;
mod steps;
mod times;
mod verbs;
mod world;

use std::sync::Arc;

use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};
use tokio::runtime::Handle;

use crate::store::{TestStore, contract};
use world::World;

const CASES: u32 = 40;
const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/contract/proptest-regressions/model.txt");

contract! {
    async fn every_sequence_of_verbs_does_what_the_reference_does(store) {
        tokio::task::block_in_place(|| explore(&store));
    }
}

fn explore(store: &Arc<TestStore>) {
    let cases =
        std::env::var("WORKHOST_MODEL_CASES").map_or(CASES, |cases| cases.parse().expect("a number of sequences"));
    let mut runner = TestRunner::new(Config {
        cases,
        max_shrink_iters: 2000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(SEEDS))),
        ..Config::default()
    });
    let hosts = Handle::current().block_on(world::hosts(store));
    let outcome = runner.run(&draw::sequences(), |sequence| {
        Handle::current().block_on(async {
            let mut world = World::new(Arc::clone(store), hosts.clone()).await;
            for step in &sequence {
                world.step(step).await;
            }
            world.end().await;
        });
        Ok(())
    });
    if let Err(failed) = outcome {
        panic!("{failed}\n{runner}");
    }
}
