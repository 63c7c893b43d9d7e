//! Records how attempts ended, many in one statement.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tracing::warn;
use workhost_queue::{Finish, Queue, Recorded};

/// The most outcomes in one statement.
const BATCH: usize = 100;

/// How long after an unanswered write the next one is tried.
const RETRY: Duration = Duration::from_millis(200);

/// Takes outcomes to be recorded. While one statement runs the next ones gather, so that an idle host
/// waits for nobody and a busy one writes batches.
#[derive(Clone)]
pub(super) struct Finisher(mpsc::Sender<Submitted>);

struct Submitted {
    finish: Finish,
    answer: oneshot::Sender<Recorded>,
}

/// The finisher, and the loop behind it, to be run beside what uses it.
pub(super) fn start(queue: Arc<dyn Queue>, limit: Duration) -> (Finisher, impl Future<Output = ()>) {
    let (sender, receiver) = mpsc::channel(BATCH);
    (Finisher(sender), write(queue, receiver, limit))
}

impl Finisher {
    /// Records an outcome and returns once the store has answered; it is tried until then. Dropping
    /// the future gives up further tries.
    pub(super) async fn record(&self, finish: Finish) -> Recorded {
        let (answer, answered) = oneshot::channel();
        if self.0.send(Submitted { finish, answer }).await.is_ok()
            && let Ok(recorded) = answered.await
        {
            return recorded;
        }
        // The loop runs as long as any attempt; only a shutdown that ran out of time ends both.
        std::future::pending().await
    }
}

async fn write(queue: Arc<dyn Queue>, mut receiver: mpsc::Receiver<Submitted>, limit: Duration) {
    let mut pending: Vec<Submitted> = Vec::new();
    loop {
        if pending.is_empty() {
            if receiver.recv_many(&mut pending, BATCH).await == 0 {
                return;
            }
        } else {
            // What is retried takes those along that came meanwhile.
            sleep(RETRY).await;
        }
        while pending.len() < BATCH
            && let Ok(submitted) = receiver.try_recv()
        {
            pending.push(submitted);
        }
        pending.retain(|submitted| !submitted.answer.is_closed());
        let finishes: Vec<Finish> = pending.iter().map(|submitted| submitted.finish.clone()).collect();
        if finishes.is_empty() {
            continue;
        }
        let answers = match timeout(limit, queue.finish(&finishes)).await {
            Ok(Ok(answers)) => answers,
            Ok(Err(error)) => {
                warn!(%error, outcomes = finishes.len(), "outcomes could not be recorded; trying again");
                continue;
            }
            Err(_) => {
                warn!(outcomes = finishes.len(), "recording outcomes got no answer within {limit:?}; trying again");
                continue;
            }
        };
        let mut busy = Vec::new();
        for (submitted, answer) in pending.drain(..).zip(answers) {
            match answer {
                Recorded::Busy => busy.push(submitted),
                answer => drop(submitted.answer.send(answer)),
            }
        }
        pending = busy;
    }
}
