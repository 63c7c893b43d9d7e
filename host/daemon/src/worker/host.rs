//! What the worker's loops and attempts share.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tracing::{error, info};
use workhost_queue::{HostQueue, Outcome};

use super::Worker;
use super::attempts::Attempts;
use super::finisher::{self, Finisher, Submissions};
use super::slots::Slots;
use super::spacing::Spacing;
use super::vigil::RETRY_AFTER;
use crate::config;
use crate::registry::Registry;

/// The longest that a loop waits for the store. With the tries that follow it is back at work within ten seconds after the
/// store is, whatever it was waiting for.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// One working host.
pub(super) struct Host {
    pub(super) queue: Arc<dyn HostQueue>,
    pub(super) registry: watch::Receiver<Arc<Registry>>,
    pub(super) settings: config::Worker,
    pub(super) owner: String,
    pub(super) guests: Handle,
    pub(super) attempts: Arc<Attempts>,
    pub(super) slots: Arc<Slots>,
    pub(super) spacing: Spacing,
    pub(super) finisher: Finisher,
    running: Mutex<JoinSet<()>>,
}

impl Host {
    pub(super) fn new(worker: Worker) -> (Arc<Host>, Submissions) {
        let Worker { queue, registry, settings, owner, guests, readiness: _ } = worker;
        let (finisher, submissions) = finisher::channel();
        let attempts = Attempts::new(settings.lease);
        let slots = Slots::new(settings.slots);
        let (spacing, running) = (Spacing::default(), Mutex::default());
        (
            Arc::new(Host { queue, registry, settings, owner, guests, attempts, slots, spacing, finisher, running }),
            submissions,
        )
    }

    /// How long a loop waits for the store: a part of the lease, so that it is tried more than once before attempts stop
    /// themselves.
    pub(super) fn answer_within(&self) -> Duration {
        (self.settings.lease / 4).min(ANSWER_WITHIN)
    }

    /// How long after a failure a loop tries again.
    pub(super) fn retry_after(&self) -> Duration {
        self.settings.poll_interval.min(RETRY_AFTER)
    }

    /// Whether claims of a kind go on as before, given how an attempt of it has ended.
    pub(super) fn space(&self, kind: &str, outcome: &Outcome, took: Duration) {
        match outcome {
            Outcome::Failed { .. } | Outcome::Retry { .. } => self.spacing.failed(kind, took),
            Outcome::Succeeded(_) => self.spacing.passed(kind),
            // They say nothing of the handler.
            Outcome::Cancelled(_) | Outcome::Released => {}
        }
    }

    /// Runs an attempt beside the others.
    pub(super) fn spawn(&self, attempt: impl Future<Output = ()> + Send + 'static) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).spawn(attempt);
    }

    /// Tells of attempts whose supervision failed.
    pub(super) fn report_panics(&self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(ended) = running.try_join_next() {
            report_panic(ended);
        }
    }

    /// Returns when all attempts are over.
    pub(super) async fn drain(&self) {
        let mut running = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        if !running.is_empty() {
            info!(running = running.len(), grace = ?self.settings.shutdown_grace, "stopping: running handlers were told");
        }
        while let Some(ended) = running.join_next().await {
            report_panic(ended);
        }
    }
}

fn report_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        error!(%error, "an attempt's supervisor failed; its lease will run out and the item runs again");
    }
}
