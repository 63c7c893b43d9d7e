//! What people hear of a loop: one line when it begins to fail, one when it works again, and a red part meanwhile.

use std::fmt::Display;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::time::{sleep, timeout};
use tracing::{error, info, warn};
use workhost_admin::Readiness;
use workhost_queue::QueueError;

/// How long after a failure a loop tries again, unless something wakes it before.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Waits for the store no longer than `limit`.
pub(super) async fn within<T>(
    limit: Duration,
    asked: impl Future<Output = Result<T, QueueError>>,
) -> Result<T, QueueError> {
    timeout(limit, asked)
        .await
        .unwrap_or_else(|_| Err(QueueError::Unavailable { reason: format!("no answer within {limit:?}") }))
}

/// The watch over one loop of the worker.
#[derive(Clone)]
pub(super) struct Vigil {
    /// The loop's name.
    part: &'static str,
    /// What a failure means, for people.
    meaning: &'static str,
    readiness: Readiness,
}

impl Vigil {
    pub(super) fn new(part: &'static str, meaning: &'static str, readiness: &Readiness) -> Vigil {
        Vigil { part, meaning, readiness: readiness.clone() }
    }

    /// Tells what came of asking the store.
    pub(super) fn tell<T>(&self, answer: Result<T, QueueError>) -> Option<T> {
        match answer {
            Ok(answer) => {
                self.works();
                Some(answer)
            }
            Err(error) => {
                self.fails(&error);
                None
            }
        }
    }

    pub(super) fn is_red(&self) -> bool {
        self.readiness.is_red(self.part)
    }

    /// There is nothing left to fail with. That it works is not known.
    pub(super) fn ends(&self) {
        self.readiness.green(self.part);
    }

    pub(super) fn works(&self) {
        if self.readiness.green(self.part) {
            info!(part = self.part, "works again");
        }
    }

    pub(super) fn fails(&self, error: &dyn Display) {
        if self.readiness.red(self.part, error.to_string()) {
            warn!(part = self.part, %error, "{}", self.meaning);
        }
    }

    /// Runs the loop; one that breaks begins again, alone.
    pub(super) async fn keep(&self, mut run: impl AsyncFnMut()) {
        while AssertUnwindSafe(run()).catch_unwind().await.is_err() {
            // The panic's own words were logged where it happened.
            error!(part = self.part, "broke, and begins again; please report this");
            self.readiness.red(self.part, "broke, and begins again");
            sleep(RETRY_AFTER).await;
        }
    }
}
