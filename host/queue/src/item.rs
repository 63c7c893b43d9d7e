//! The work item and its identity.

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::Json;

/// The number of a work item, unique in its store, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ItemId(pub i64);

impl std::fmt::Display for ItemId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What a running attempt must show with each write: the item, and the attempt that holds it.
///
/// A write whose fence no longer holds the item changes nothing and is answered as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fence {
    /// The item.
    pub id: ItemId,
    /// The attempt, from 1; the fencing token, which only ever grows.
    pub attempt: u32,
}

impl std::fmt::Display for Fence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "attempt {} of work item {}", self.attempt, self.id)
    }
}

/// Where an item is in its life. The last three are finished: such an item never changes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Waits for its time, its turn, or a host that knows its kind.
    Queued,
    /// Held by one attempt.
    Running,
    /// The handler completed it.
    Succeeded,
    /// The handler failed, or its attempts stalled too often.
    Failed,
    /// A person or program called it off, or another item took its place.
    Cancelled,
}

impl Status {
    /// All statuses, in the order of an item's life.
    pub const ALL: [Status; 5] =
        [Status::Queued, Status::Running, Status::Succeeded, Status::Failed, Status::Cancelled];

    /// The word for this status in SQL, HTTP and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Queued => "queued",
            Status::Running => "running",
            Status::Succeeded => "succeeded",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }

    /// Whether an item in this status never changes again.
    pub fn is_finished(self) -> bool {
        matches!(self, Status::Succeeded | Status::Failed | Status::Cancelled)
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl std::str::FromStr for Status {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Status::ALL
            .into_iter()
            .find(|status| status.as_str() == word)
            .ok_or_else(|| format!("`{word}` is no status: queued, running, succeeded, failed or cancelled"))
    }
}

/// One durable piece of work. Times are UTC, from the database's clock.
#[derive(Clone, Debug, Serialize)]
pub struct WorkItem {
    /// The item's number.
    pub id: ItemId,
    /// The name that selects payload type and handler.
    pub kind: String,
    /// What the handler works on, as it was enqueued.
    pub payload: Json,
    /// While an item of this kind with this key is queued, enqueueing again returns that item.
    pub dedup_key: Option<String>,
    /// The serial key: at most one item of a scope runs, over all hosts.
    pub scope: Option<String>,
    /// Higher runs first; the default is 0.
    pub priority: i32,
    /// Not before this time.
    #[serde(with = "time::serde::rfc3339")]
    pub run_at: OffsetDateTime,
    /// Where the item is in its life.
    pub status: Status,
    /// The number of the newest attempt; 0 before the first.
    pub attempt: u32,
    /// How many attempts ended because their lease ran out.
    pub stalls: u32,
    /// How many attempts ended in a failure.
    pub failures: u32,
    /// How many attempts were handed back at a shutdown.
    pub interruptions: u32,
    /// The newest snapshot that an attempt reported.
    pub progress: Option<Json>,
    /// What the handler returned; partial if the item was cancelled.
    pub result: Option<Json>,
    /// The text of the newest failure.
    pub error: Option<String>,
    /// The end of what the newest attempt logged, once it has ended.
    pub log_tail: Option<String>,
    /// Why the queue itself ended the item: `stalled`, `superseded`.
    pub reason: Option<String>,
    /// The host that runs the item, or ran it last.
    pub host: Option<String>,
    /// The digest of the component that ran it last (`sha256:…`).
    pub handler_digest: Option<String>,
    /// The item whose handler enqueued this one.
    pub parent_id: Option<ItemId>,
    /// When the claim lapses unless a heartbeat extends it.
    #[serde(with = "time::serde::rfc3339::option")]
    pub lease_expires_at: Option<OffsetDateTime>,
    /// When a cancel was first requested.
    #[serde(with = "time::serde::rfc3339::option")]
    pub cancel_requested_at: Option<OffsetDateTime>,
    /// When it was enqueued.
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    /// When something that people see last changed; a heartbeat that only extends the lease does not count.
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    /// When the newest attempt was claimed.
    #[serde(with = "time::serde::rfc3339::option")]
    pub started_at: Option<OffsetDateTime>,
    /// When it became succeeded, failed or cancelled.
    #[serde(with = "time::serde::rfc3339::option")]
    pub finished_at: Option<OffsetDateTime>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_read_of_them() {
        let fence = Fence { id: ItemId(7), attempt: 2 };
        assert_eq!((fence.to_string(), ItemId(7).to_string()), ("attempt 2 of work item 7".to_owned(), "7".to_owned()));
        for status in Status::ALL {
            assert_eq!((status.to_string().as_str(), status.to_string().parse()), (status.as_str(), Ok(status)));
            assert_eq!(status.is_finished(), !matches!(status, Status::Queued | Status::Running));
        }
        assert_eq!(format!("{:>8}|{:<8}|", Status::Queued, ItemId(7)), "  queued|7       |");
        assert!("done".parse::<Status>().unwrap_err().contains("queued"));
    }
}
