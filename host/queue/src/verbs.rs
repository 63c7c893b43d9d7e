//! The queue's verbs: what each takes, answers and promises.

mod host;

use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;

use crate::{
    AttemptRecord, AuditEntry, AuditPage, Changes, Count, Cursor, Deed, Enqueued, Fence, Filter, HostSeen, ItemId,
    NewItem, NewToken, Pausable, Paused, Result, Token, TokenId, WorkItem,
};
pub use host::HostQueue;

/// A durable work queue. Every behaviour stated here holds on each store; the database's clock decides
/// leases and due times.
///
/// Every verb answers [`Unavailable`](crate::QueueError::Unavailable) when the store is in trouble, and
/// may be repeated then: none of them doubles or loses an item by being repeated (an enqueue without a
/// dedup key excepted, whose first answer may have been lost on the way).
#[async_trait]
pub trait Queue: HostQueue {
    /// Brings the store's schema to this build's version, wholly or not at all. Safe when several hosts start together,
    /// and beside hosts of the build before. Gives up with [`Held`](crate::QueueError::Held) when somebody holds the
    /// migration lock, or one that a migration needs, too long.
    ///
    /// A build older than the schema allows is answered [`Unusable`](crate::QueueError::Unusable), and nothing is
    /// changed. The other verbs do not ask again, so a host migrates before anything else.
    async fn migrate(&self) -> Result<Migrated>;

    /// Asks the store for a sign of life, and whether its schema fits this build. A host that runs while a migration
    /// comes that it is too old for hears of it here.
    async fn check(&self) -> Result<()>;

    /// Becomes the serving process of this store until the answer is dropped. A SQLite file has one
    /// serving process at a time: a second gets [`Held`](crate::QueueError::Held) naming the first.
    /// PostgreSQL takes any number.
    async fn serve(&self, host: &str) -> Result<Serving>;

    /// Closes the store, after everything else. A SQLite file that nobody else has open is whole then without the files
    /// beside it.
    async fn close(&self);

    /// Inserts items, all or none, and answers each in order: the one way in.
    async fn enqueue(&self, items: &[NewItem]) -> Result<Vec<Enqueued>>;

    /// Inserts items on behalf of a running attempt, which they name as their parent. As [`enqueue`](Queue::enqueue), but
    /// inserts nothing unless that attempt still holds its item, and answers `None` then.
    async fn enqueue_by(&self, parent: Fence, items: &[NewItem]) -> Result<Option<Vec<Enqueued>>>;

    /// Calls an item off: at once if queued, by request if running.
    async fn cancel(&self, id: ItemId) -> Result<CancelAnswer> {
        self.cancel_by(id, None).await
    }

    /// The same, for a person or program whose name goes into the audit log.
    async fn cancel_by(&self, id: ItemId, actor: Option<&str>) -> Result<CancelAnswer>;

    /// Holds work back until it is resumed, over restarts of any host; what runs already goes on. A pause that was
    /// answered is seen by every claim and schedule that begins afterwards. Answers whether it was not paused before:
    /// a repeated pause changes nothing. `actor` is the person or program that wants it so.
    async fn pause(&self, work: &Pausable, actor: Option<&str>) -> Result<bool>;

    /// Lets paused work go on, and wakes the hosts. Answers whether it was paused.
    async fn resume(&self, work: &Pausable, actor: Option<&str>) -> Result<bool>;

    /// Reads what is paused.
    async fn paused(&self) -> Result<Vec<Paused>>;

    /// Reads the hosts that were seen, by name.
    async fn hosts(&self) -> Result<Vec<HostSeen>>;

    /// Records what somebody did. What they do through [`cancel_by`](Queue::cancel_by), [`pause`](Queue::pause),
    /// [`resume`](Queue::resume) and with tokens is recorded by those verbs, if it changed something, in the same
    /// transaction. Kept for [`AUDIT_KEPT`](crate::AUDIT_KEPT); each new record removes some that are older.
    async fn audit(&self, deed: &Deed) -> Result<()>;

    /// Reads what was done, newest first.
    async fn audit_log(&self, page: &AuditPage) -> Result<Vec<AuditEntry>>;

    /// Adds a token. [`Invalid`](crate::QueueError::Invalid) if one that was not revoked has this name.
    async fn add_token(&self, token: &NewToken, actor: Option<&str>) -> Result<TokenId>;

    /// Reads all tokens, the oldest first, revoked ones too.
    async fn tokens(&self) -> Result<Vec<Token>>;

    /// Revokes a token from now on. Answers whether it lived until now.
    async fn revoke_token(&self, id: TokenId, actor: Option<&str>) -> Result<bool>;

    /// Finds the token with this SHA-256, unless it was revoked, and notes that it was shown.
    async fn token_by_hash(&self, sha256: &[u8; 32]) -> Result<Option<Token>>;

    /// Deletes up to `limit` items that finished more than `older_than` ago, oldest first, and answers
    /// how many. Never queued or running ones, never one that a schedule still needs. With a fence it
    /// deletes nothing unless that attempt still holds its item, and answers `None` then.
    async fn delete_finished(&self, fence: Option<Fence>, older_than: Duration, limit: u32) -> Result<Option<u64>>;

    /// Reads one item.
    async fn get(&self, id: ItemId) -> Result<Option<WorkItem>>;

    /// Reads the attempts of an item that ended otherwise than succeeded, newest first:
    /// the newest [`KEPT_ATTEMPTS`](crate::KEPT_ATTEMPTS) of them. None for an unknown item.
    async fn attempts(&self, id: ItemId) -> Result<Vec<AttemptRecord>>;

    /// Reads items, newest first.
    async fn list(&self, filter: &Filter) -> Result<Vec<WorkItem>>;

    /// Reads up to `limit` items that changed since the cursor, in the order of their changes, so that a reader who
    /// goes on from cursor to cursor misses none, in whatever order transactions commit. A change is what moves
    /// `updated_at`. Without a cursor, or with one that is too old, [`Resync`](Changes::Resync). On PostgreSQL a change
    /// is told when every transaction that began to write before it has ended.
    async fn changes_since(&self, cursor: Option<Cursor>, limit: u32) -> Result<Changes>;

    /// Counts items by kind and status, kinds unknown to this build included.
    async fn counts(&self) -> Result<Vec<Count>>;
}

/// What a cancel did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelAnswer {
    /// It was queued and is cancelled now.
    Cancelled,
    /// It is running; its host has been asked (a repeated request changes nothing).
    Requested,
    /// It had finished already; it is as it was.
    Finished,
    /// No such item.
    Unknown,
}

/// What a migration did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Migrated {
    /// The names of the migrations that were applied now, in order.
    pub applied: Vec<String>,
    /// The schema version that the store has now.
    pub version: i64,
}

/// The right to serve a store; given back when dropped.
#[derive(Debug)]
pub struct Serving {
    /// Keeps the lock file of a SQLite store locked.
    pub(crate) _lock: Option<std::fs::File>,
}
