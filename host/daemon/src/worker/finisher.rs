//! Records how attempts ended, many in one statement.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use workhost_queue::{Finish, HostQueue, QueueError, Recorded};

use super::vigil::{Vigil, within};

/// The most outcomes in one statement.
const BATCH: usize = 100;

/// The most bytes in one statement: large results travel apart, so that each is through in time. One that is larger
/// travels alone.
const BATCH_BYTES: usize = 4 << 20;

/// Statements under way at a time: one that hangs holds up its own outcomes alone.
const LANES: usize = 4;

/// How long an outcome waits for company while another statement is under way. With none it waits for nobody.
const COMPANY: Duration = Duration::from_millis(5);

/// How long after an unanswered write, or one of a locked row, the next is tried.
const RETRY: Duration = Duration::from_millis(200);

/// Takes outcomes to be recorded.
#[derive(Clone)]
pub(super) struct Finisher(mpsc::UnboundedSender<Submitted>);

/// What comes out of the other end of a [`Finisher`].
pub(super) type Submissions = mpsc::UnboundedReceiver<Submitted>;

pub(super) struct Submitted {
    finish: Finish,
    answer: oneshot::Sender<Recorded>,
    /// Whether it was tried, and nobody answered.
    unanswered: bool,
}

/// An outcome in line.
struct Waiting {
    submitted: Submitted,
    /// When it goes, with or without company.
    due: Instant,
}

/// The finisher, and what [`write`] is to take from it. No more outcomes wait than there are attempts.
pub(super) fn channel() -> (Finisher, Submissions) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Finisher(sender), receiver)
}

impl Finisher {
    /// Records an outcome and returns once the store has answered; it is tried until then. Dropping
    /// the future gives up further tries.
    pub(super) async fn record(&self, finish: Finish) -> Recorded {
        loop {
            let (answer, answered) = oneshot::channel();
            if self.0.send(Submitted { finish: finish.clone(), answer, unanswered: false }).is_err() {
                // Only a shutdown that ran out of time ends the other end before all attempts.
                return std::future::pending().await;
            }
            // Without an answer the loop behind it broke, and has begun again.
            if let Ok(recorded) = answered.await {
                return recorded;
            }
        }
    }
}

/// Writes what is submitted, until all finishers are gone. Each statement has so long.
pub(super) async fn write(queue: &Arc<dyn HostQueue>, submissions: &mut Submissions, limit: Duration, vigil: &Vigil) {
    let mut waiting: VecDeque<Waiting> = VecDeque::new();
    let mut lanes = FuturesUnordered::new();
    // How many lanes try again what was not answered before.
    let mut retries = 0;
    loop {
        let next = waiting.iter().map(|outcome| outcome.due).min();
        tokio::select! {
            biased;
            Some(Written { again, error, retried }) = lanes.next() => {
                retries -= usize::from(retried);
                let due = Instant::now() + RETRY;
                waiting.extend(Vec::into_iter(again).map(|submitted| Waiting { submitted, due }));
                match error {
                    Some(error) => vigil.fails(&error),
                    // It does not work again as long as one of them cannot be written.
                    None if retries == 0 && !waiting.iter().any(|outcome| outcome.submitted.unanswered) => vigil.works(),
                    None => {}
                }
                // The others have waited long enough.
                if lanes.is_empty() {
                    let now = Instant::now();
                    waiting.iter_mut().filter(|outcome| outcome.due < now + COMPANY).for_each(|outcome| outcome.due = now);
                }
            }
            Some(submitted) = submissions.recv() => {
                let due = Instant::now() + if lanes.is_empty() { Duration::ZERO } else { COMPANY };
                waiting.push_back(Waiting { submitted, due });
                // All that came at the same time travel together.
                while let Ok(submitted) = submissions.try_recv() {
                    waiting.push_back(Waiting { submitted, due });
                }
            }
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() && lanes.len() < LANES => {}
            else => return,
        }
        while lanes.len() < LANES
            && let Some(batch) = take(&mut waiting, Instant::now())
        {
            retries += usize::from(batch.iter().any(|submitted| submitted.unanswered));
            lanes.push(record(queue, batch, limit));
        }
        // What could not be written may have been given up.
        if retries == 0 && !waiting.iter().any(|outcome| outcome.submitted.unanswered) {
            vigil.ends();
        }
    }
}

/// Takes what is due, as much as goes into one statement.
fn take(waiting: &mut VecDeque<Waiting>, now: Instant) -> Option<Vec<Submitted>> {
    waiting.retain(|outcome| !outcome.submitted.answer.is_closed());
    let (mut batch, mut bytes) = (Vec::new(), 0);
    let mut index = 0;
    while let Some(outcome) = waiting.get(index)
        && batch.len() < BATCH
    {
        let size = outcome.submitted.finish.size();
        // Who is due takes along whoever is there, but for those that were tried just now.
        let company = outcome.due <= now + COMPANY;
        if company && (batch.is_empty() || bytes + size <= BATCH_BYTES) {
            bytes += size;
            batch.extend(waiting.remove(index));
        } else {
            index += 1;
        }
    }
    if batch.iter().all(|outcome: &Waiting| outcome.due > now) {
        // Nobody has to go yet.
        batch.into_iter().rev().for_each(|outcome| waiting.push_front(outcome));
        return None;
    }
    Some(batch.into_iter().map(|outcome| outcome.submitted).collect())
}

/// What came of one statement.
struct Written {
    /// What must be tried again.
    again: Vec<Submitted>,
    /// Why the store did not answer, if it did not.
    error: Option<QueueError>,
    /// Whether this was to try again what had not been answered before.
    retried: bool,
}

/// Writes one batch.
async fn record(queue: &Arc<dyn HostQueue>, mut batch: Vec<Submitted>, limit: Duration) -> Written {
    let retried = batch.iter().any(|submitted| submitted.unanswered);
    let finishes: Vec<Finish> = batch.iter().map(|submitted| submitted.finish.clone()).collect();
    match within(limit, queue.finish(&finishes)).await {
        Ok(answers) => {
            let mut again = Vec::new();
            for (submitted, answer) in batch.into_iter().zip(answers) {
                match answer {
                    Recorded::Busy => again.push(Submitted { unanswered: false, ..submitted }),
                    answer => drop(submitted.answer.send(answer)),
                }
            }
            Written { again, error: None, retried }
        }
        Err(error) => {
            batch.iter_mut().for_each(|submitted| submitted.unanswered = true);
            Written { again: batch, error: Some(error), retried }
        }
    }
}
