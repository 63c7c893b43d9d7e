//! The running attempt, as its handler sees it.

use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::progress::Throttle;
use crate::{StopReason, host, log};

/// The attempt that is running: who it is, progress out, the wish to stop in.
#[derive(Debug)]
pub struct Work {
    id: u64,
    attempt: u32,
    scope: Option<String>,
    resume_from: Option<String>,
    throttle: Throttle,
}

impl Work {
    pub(crate) fn new(id: u64, attempt: u32, scope: Option<String>, resume_from: Option<String>) -> Self {
        Work { id, attempt, scope, resume_from, throttle: Throttle::default() }
    }

    /// The item's number, the same for all its attempts.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The number of this attempt, from 1; it only grows.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The item's serial key: no other item of this scope runs at the same time.
    pub fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }

    /// The newest progress of an earlier attempt. `None` if there is none, or if it is not such a `T`
    /// (an older version of the handler told it): then the work starts over.
    pub fn resume_from<T: DeserializeOwned>(&self) -> Option<T> {
        let snapshot = self.resume_from.as_deref()?;
        let parsed = serde_json::from_str(snapshot);
        if parsed.is_err() {
            log::warn("the progress of an earlier attempt has another shape: starting over", &[]);
        }
        parsed.ok()
    }

    /// Replaces the item's progress. Cheap to call at each step: all but a few calls a second do nothing.
    /// Before stopping, tell the last one with [`report_progress_now`](Self::report_progress_now).
    pub fn report_progress(&self, snapshot: &impl Serialize) {
        if self.throttle.due(Instant::now()) {
            self.report_progress_now(snapshot);
        }
    }

    /// Replaces the item's progress, however short ago it was told. A snapshot that is not valid JSON is
    /// logged and dropped.
    pub fn report_progress_now(&self, snapshot: &impl Serialize) {
        match serde_json::to_string(snapshot) {
            Ok(json) => host::report_progress(&json),
            Err(error) => log::error("the progress is not valid JSON", &[("error", &error)]),
        }
    }

    /// Whether the host asks this attempt to stop, and why. Ask between steps, several times a second:
    /// an attempt that goes on is ended by the host when its grace period is over.
    pub fn stop_requested(&self) -> Option<StopReason> {
        host::stop_requested()
    }
}
