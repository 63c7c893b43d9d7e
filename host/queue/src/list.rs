//! Which items to list, and how many there are.

use serde::Serialize;

use crate::{ItemId, Status};

/// Which items to list. Empty means all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only these statuses.
    pub statuses: Vec<Status>,
    /// Only this kind.
    pub kind: Option<String>,
    /// Only this scope.
    pub scope: Option<String>,
    /// Only items older than this one: the last id of the page before.
    pub before: Option<ItemId>,
    /// How many at most; 0 means the default of 50.
    pub limit: u32,
}

impl Filter {
    /// How many items to answer, where a store answers `most` at most.
    pub(crate) fn page(&self, most: u32) -> u32 {
        match self.limit {
            0 => 50.min(most),
            limit => limit.min(most),
        }
    }
}

/// How many items of a kind have a status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The work kind.
    pub kind: String,
    /// The status.
    pub status: Status,
    /// How many.
    pub count: u64,
}
