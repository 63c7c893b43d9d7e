//! What the soak itself did and saw: the oracle compares with it what became of the items.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use workhost_queue::CancelAnswer;

use super::footprint::Footprint;
use super::oracle::Violation;

/// The notes of all parts of a soak.
#[derive(Default)]
pub(crate) struct Book(Mutex<Pages>);

/// All that was noted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages {
    pub(crate) enqueued: Vec<Enqueued>,
    /// Items whose enqueueing got no answer: they may be there or not.
    pub(crate) unanswered: u64,
    pub(crate) cancels: Vec<Cancel>,
    pub(crate) deeds: Vec<Deed>,
    /// How much trouble is under way, and so not yet among the deeds.
    pub(crate) under_way: u32,
    /// How often work was held back.
    pub(crate) pauses: u64,
    /// By host, in the order of time.
    pub(crate) footprints: Vec<Footprint>,
    /// What was seen to be wrong before the end.
    pub(crate) amiss: Vec<Violation>,
    /// How many items of each kind were queued or running at the last look.
    pub(crate) open: BTreeMap<String, u64>,
    /// How many were finished.
    pub(crate) finished: u64,
}

/// An answer to an enqueue.
#[derive(Clone, Debug)]
pub(crate) struct Enqueued {
    pub(crate) id: i64,
    pub(crate) kind: String,
    pub(crate) created: bool,
}

/// An answer to a cancel.
#[derive(Clone, Debug)]
pub(crate) struct Cancel {
    pub(crate) id: i64,
    pub(crate) answer: CancelAnswer,
    pub(crate) answered_ms: i64,
}

/// Something that was done to a host, or to all.
#[derive(Clone, Debug)]
pub(crate) struct Deed {
    pub(crate) host: Option<String>,
    pub(crate) what: What,
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// `kill -9`.
    Killed,
    /// SIGTERM.
    Terminated,
    /// SIGSTOP, until SIGCONT.
    Stopped,
    /// SIGHUP.
    Reloaded,
    /// The host's way to its store was closed, held up, or lost what came back.
    CutOff,
    /// The store was out of reach, for all.
    Outage,
    /// All sessions of the store were ended.
    SessionsEnded,
    /// The machine stood still.
    Standstill,
}

impl What {
    /// Whether a lease can run out of it: also where only the answer to a claim is lost.
    pub(crate) fn explains_a_stall(self) -> bool {
        !matches!(self, What::Terminated | What::Reloaded)
    }
}

impl Book {
    pub(crate) fn done(&self, deed: Deed) {
        self.write(|pages| pages.deeds.push(deed));
    }

    pub(crate) fn amiss(&self, rule: &'static str, item: Option<i64>, said: String) {
        self.write(|pages| pages.amiss.push(Violation { rule, item, said }));
    }

    pub(crate) fn write<T>(&self, change: impl FnOnce(&mut Pages) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Pages {
    /// How often this was done.
    pub(crate) fn count(&self, what: What) -> usize {
        self.deeds.iter().filter(|deed| deed.what == what).count()
    }
}
