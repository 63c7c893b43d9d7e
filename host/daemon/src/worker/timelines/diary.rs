//! What happened when.

use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

/// Lines such as `2000 beat 1`: milliseconds since the start, and what happened.
pub(super) struct Diary {
    start: Instant,
    lines: Mutex<Vec<String>>,
}

impl Diary {
    pub(super) fn new() -> Diary {
        Diary { start: Instant::now(), lines: Mutex::default() }
    }

    pub(super) fn note(&self, what: impl std::fmt::Display) {
        let line = format!("{} {what}", self.start.elapsed().as_millis());
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
