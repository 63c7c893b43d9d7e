//! What is done to the store, and so to all hosts at once; and work that people hold back for a while.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rand::RngExt as _;
use rand::rngs::StdRng;
use tokio::time::sleep;
use workhost_queue::Pausable;

use super::doing;
use crate::run::book::What;
use crate::run::fleet::Passage;
use crate::run::plan::{LEASE, Store};
use crate::run::{Scene, database};

/// Troubles the store until the load ends, and leaves it open to all.
pub(super) async fn trouble(scene: Arc<Scene>) -> Result<()> {
    let mut choices = scene.plan.choices("store");
    // The shortest soak has an outage, too.
    let mut next = 0;
    while scene.clock.wait(Duration::from_millis(choices.random_range(6000..14_000))).await {
        // Longer than half a lease, so that attempts stop themselves.
        let long = LEASE.mul_f64(choices.random_range(0.6..1.5));
        match next {
            0..40 => match scene.plan.store {
                Store::Sqlite => {
                    let held = database::hold_sqlite(&scene.store_url, long);
                    // A host that is stopped amid a write has the lock: then this is its turn to wait in vain.
                    let _ = doing(&scene, None, What::Outage, held).await;
                }
                Store::Postgres => doing(&scene, None, What::Outage, outage(&scene, &mut choices, long)).await,
            },
            40..60 if scene.plan.store == Store::Postgres => {
                doing(&scene, None, What::SessionsEnded, database::end_sessions(&scene.store_url)).await?;
            }
            _ => pause(&scene, &mut choices).await,
        }
        next = choices.random_range(0..100);
    }
    Ok(())
}

/// The server is out of reach for all hosts. Clients still enqueue: work piles up.
async fn outage(scene: &Scene, choices: &mut StdRng, long: Duration) {
    let passage = [Passage::Closed, Passage::Held][choices.random_range(0..2)];
    scene.fleet.pass(passage);
    sleep(long).await;
    scene.fleet.pass(Passage::Open);
}

async fn pause(scene: &Scene, choices: &mut StdRng) {
    let work = match choices.random_range(0..3) {
        0 => Pausable::Kind { kind: "diary".to_owned() },
        1 => Pausable::Kind { kind: "echo".to_owned() },
        _ => Pausable::Scope { scope: format!("s{}", choices.random_range(0..4)) },
    };
    scene.book.write(|pages| pages.pauses += 1);
    // What is not answered is set right at the end.
    let _ = scene.queue.pause(&work, Some("soak")).await;
    sleep(Duration::from_millis(choices.random_range(1000..4000))).await;
    let _ = scene.queue.resume(&work, Some("soak")).await;
}
