//! What is kept of attempts that did not succeed.

use serde::Serialize;
use time::OffsetDateTime;

/// How many attempts of one item are kept: the newest 100. An item that was interrupted more often than that has no
/// news to tell in its oldest attempts. The schema itself holds this limit, so that it is the same for every host.
pub const KEPT_ATTEMPTS: u32 = 100;

/// An attempt that ended otherwise than succeeded. Kept as long as its item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttemptRecord {
    /// Its number.
    pub attempt: u32,
    /// The host that ran it.
    pub host: String,
    /// The digest of the component that ran.
    pub handler_digest: Option<String>,
    /// When it was claimed.
    #[serde(with = "time::serde::rfc3339")]
    pub started_at: OffsetDateTime,
    /// When its end was recorded.
    #[serde(with = "time::serde::rfc3339")]
    pub ended_at: OffsetDateTime,
    /// How it ended: `failed`, `retry` (failed, to be tried again), `cancelled`, `released` (handed back at a
    /// shutdown) or `stalled` (its lease ran out). Text, since a newer host may know more words.
    pub outcome: String,
    /// What went wrong, for those that failed.
    pub error: Option<String>,
    /// The end of what it logged, if its host could still tell.
    pub log_tail: Option<String>,
}
