//! Hosts that race to enqueue what is due, with handlers that finish in no time.

use std::sync::Arc;

use tokio::sync::Barrier;
use tokio::task::JoinSet;
use workhost_queue::{Claim, Finish, Outcome, Periodic, Queue};

use crate::store::{TestStore, ask};

/// As many hosts as race.
const HOSTS: usize = 8;

/// Hosts on one store.
pub(crate) struct Racers(Vec<Arc<dyn Queue>>);

impl Racers {
    pub(crate) async fn new(store: &TestStore) -> Racers {
        let mut hosts = Vec::new();
        for _ in 0..HOSTS {
            hosts.push(store.host().await);
        }
        Racers(hosts)
    }

    /// All of them look at once and run what they get, and look again while others still do. Then what is left is run.
    /// Answers how many items were made.
    pub(crate) async fn run(&self, store: &TestStore, periodic: &Periodic) -> usize {
        let barrier = Arc::new(Barrier::new(self.0.len()));
        let mut racers = JoinSet::new();
        for queue in &self.0 {
            let (queue, barrier, periodic) = (Arc::clone(queue), Arc::clone(&barrier), [periodic.clone()]);
            racers.spawn(async move {
                barrier.wait().await;
                let made = queue.enqueue_due(&periodic).await.unwrap().len();
                for claim in queue.claim(&ask("h", &[(&periodic[0].kind, 1)])).await.unwrap() {
                    succeed(&*queue, &claim).await;
                }
                made + queue.enqueue_due(&periodic).await.unwrap().len()
            });
        }
        let made = racers.join_all().await.into_iter().sum();
        while let Some(claim) = store.claim(&periodic.kind).await {
            succeed(&*store.queue, &claim).await;
        }
        made
    }
}

async fn succeed(queue: &dyn Queue, claim: &Claim) {
    queue.finish(&[Finish::new(claim.fence(), Outcome::Succeeded(None))]).await.unwrap();
}
