//! How attempts end, and what is recorded of it.

use std::time::Duration;

use crate::{Fence, ItemId, Json, Status};

/// How an attempt ended, to be recorded.
#[derive(Clone, Debug)]
pub struct Finish {
    /// Whose.
    pub fence: Fence,
    /// What to record.
    pub outcome: Outcome,
    /// The newest progress, if there is one that was not yet stored.
    pub progress: Option<Json>,
    /// The end of what the attempt logged, for people.
    pub log_tail: Option<String>,
}

impl Finish {
    /// With no news of progress, and no log.
    pub fn new(fence: Fence, outcome: Outcome) -> Finish {
        Finish { fence, outcome, progress: None, log_tail: None }
    }

    /// Bytes of its texts: about what goes over the wire.
    pub fn size(&self) -> usize {
        let outcome = match &self.outcome {
            Outcome::Succeeded(summary) | Outcome::Cancelled(summary) => {
                summary.as_ref().map_or(0, |json| json.as_str().len())
            }
            Outcome::Failed { error } | Outcome::Retry { error, .. } => error.len(),
            Outcome::Released => 0,
        };
        outcome
            + self.progress.as_ref().map_or(0, |json| json.as_str().len())
            + self.log_tail.as_ref().map_or(0, String::len)
    }
}

/// What becomes of the item.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Done, with the handler's summary. If a cancel was requested meanwhile the item ends cancelled, the
    /// summary its partial result.
    Succeeded(Option<Json>),
    /// Failed for good, with the text for people.
    Failed {
        /// What went wrong.
        error: String,
    },
    /// Ended because a cancel was requested, with the partial summary.
    Cancelled(Option<Json>),
    /// Handed back at a shutdown: no stall, no failure; an interruption. It keeps its place in line.
    Released,
    /// Failed, and to be tried again after a delay: the kind has opted in.
    Retry {
        /// What went wrong.
        error: String,
        /// How long to wait.
        delay: Duration,
    },
}

/// What a finish is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It is recorded, now or by an earlier call whose answer was lost.
    Recorded,
    /// The attempt no longer holds the item; nothing was written.
    Lost,
    /// Somebody else has the row locked; nothing was written. Try again.
    Busy,
}

/// An item whose lease ran out, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The item.
    pub id: ItemId,
    /// Its status now: queued, failed or cancelled.
    pub status: Status,
    /// How many stalls it has now.
    pub stalls: u32,
}
