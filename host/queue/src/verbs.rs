//! The queue's verbs: what each takes, answers and promises.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use tokio::sync::Notify;

use crate::{
    AttemptRecord, AuditEntry, AuditPage, Changes, Cursor, Deed, Fence, HostReport, HostSeen, ItemId, Json, NewToken,
    Pausable, Paused, Result, Schedule, Status, Token, TokenId, WorkItem,
};

/// A durable work queue. Every behaviour stated here holds on each store; the database's clock decides
/// leases and due times.
///
/// Every verb answers [`Unavailable`](crate::QueueError::Unavailable) when the store is in trouble, and
/// may be repeated then: none of them doubles or loses an item by being repeated (an enqueue without a
/// dedup key excepted, whose first answer may have been lost on the way).
#[async_trait]
pub trait Queue: Send + Sync + 'static {
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

    /// Is notified when new work may be there: after an enqueue by this process, and, as a hint, by
    /// others. A wake while nobody waits is kept.
    fn wake(&self) -> Arc<Notify>;

    /// Inserts items, all or none, and answers each in order: the one way in.
    async fn enqueue(&self, items: &[NewItem]) -> Result<Vec<Enqueued>>;

    /// Takes up to `request.limit` due items by priority (higher first), run_at and id; never an
    /// unknown kind, never two of one scope. Of each scope only its head is taken.
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claim>>;

    /// Extends the leases of all that a host runs and stores the newest progress. Answers in order.
    async fn heartbeat(&self, beats: &[Beat], lease: Duration) -> Result<Vec<Pulse>>;

    /// Records how attempts ended. Each is fenced on its own; one bad row never harms another.
    /// Answers in order; repeating a recorded finish is answered `Recorded` again.
    async fn finish(&self, finishes: &[Finish]) -> Result<Vec<Recorded>>;

    /// Ends attempts whose lease ran out: back to the queue with a stall counted, failed as `stalled`
    /// when `max_stalls` is reached, cancelled where a cancel was requested. Bounded by `limit`.
    async fn recover_expired(&self, max_stalls: u32, limit: u32) -> Result<Vec<Recovered>>;

    /// Enqueues each periodic kind that is due: nothing queued or running under its key, and nothing finished within
    /// its interval, or, by a cron schedule, a slot between the creation of its last run and now. However many slots
    /// were missed, and however many hosts race, there is one item.
    async fn enqueue_due(&self, periodics: &[Periodic]) -> Result<Vec<ItemId>>;

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

    /// Keeps what a host says of itself, for people to see; nothing depends on it. Hosts that were not seen for longer
    /// than the limit are forgotten.
    async fn host_seen(&self, report: &HostReport) -> Result<()>;

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

/// An item to enqueue.
#[derive(Clone, Debug)]
pub struct NewItem {
    /// The work kind.
    pub kind: String,
    /// The payload.
    pub payload: Json,
    /// Coalesces with the queued item of this kind that has the same key.
    pub dedup_key: Option<String>,
    /// The serial key.
    pub scope: Option<String>,
    /// Not before this long from now.
    pub delay: Duration,
    /// Higher runs first.
    pub priority: i32,
}

impl NewItem {
    /// An item of this kind, due now, without key, scope or priority.
    pub fn new(kind: impl Into<String>, payload: Json) -> Self {
        NewItem { kind: kind.into(), payload, dedup_key: None, scope: None, delay: Duration::ZERO, priority: 0 }
    }
}

/// What enqueueing an item did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", content = "id", rename_all = "lowercase")]
pub enum Enqueued {
    /// A new item.
    Created(ItemId),
    /// The queued item with the same kind and dedup key; it is unchanged.
    Existing(ItemId),
}

impl Enqueued {
    /// The item's id, new or not.
    pub fn id(self) -> ItemId {
        match self {
            Enqueued::Created(id) | Enqueued::Existing(id) => id,
        }
    }

    /// The item's id, if it is new.
    pub fn created(self) -> Option<ItemId> {
        match self {
            Enqueued::Created(id) => Some(id),
            Enqueued::Existing(_) => None,
        }
    }
}

/// What a host asks for when it claims.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// The owner: host name and boot nonce.
    pub host: String,
    /// The kinds that this host can run now.
    pub kinds: Vec<KindSlots>,
    /// The scopes that this host serves; `None` is all. Items without a scope go to any host.
    pub scopes: Option<Vec<String>>,
    /// How many items at most.
    pub limit: u32,
    /// How long a claim lasts without a heartbeat.
    pub lease: Duration,
}

/// A kind that a host can run, and how many more of it.
#[derive(Clone, Debug)]
pub struct KindSlots {
    /// The work kind.
    pub kind: String,
    /// Free slots for it, at least 1.
    pub slots: u32,
    /// The digest of the component that will run it, recorded with the attempt.
    pub handler_digest: String,
}

/// The exclusive right to run one item for one attempt. Not `Clone`: a claim is moved, never copied.
/// A dropped claim is recovered when its lease expires.
#[derive(Debug)]
pub struct Claim {
    /// The item as claimed: `running`, with this attempt's number.
    pub item: WorkItem,
}

impl Claim {
    /// What each write of this attempt must show.
    pub fn fence(&self) -> Fence {
        Fence { id: self.item.id, attempt: self.item.attempt }
    }
}

/// One attempt's sign of life.
#[derive(Clone, Debug)]
pub struct Beat {
    /// Whose.
    pub fence: Fence,
    /// The newest progress, if there is one that was not yet stored.
    pub progress: Option<Json>,
}

/// What a heartbeat is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulse {
    /// The attempt holds its item; the lease is extended.
    Alive,
    /// The same, and somebody wants the item cancelled.
    CancelRequested,
    /// The attempt no longer holds the item. Nothing was written; nothing may be.
    Lost,
    /// Somebody else has the row locked. Nothing was written; the lease runs on. Beat again.
    Busy,
}

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

/// A kind that runs again by a schedule.
#[derive(Clone, Debug)]
pub struct Periodic {
    /// The work kind.
    pub kind: String,
    /// The scope of its items, where the kind requires one. Each scope is a schedule of its own.
    pub scope: Option<String>,
    /// The payload of its items.
    pub payload: Json,
    /// When it runs again.
    pub schedule: Schedule,
}

impl Periodic {
    /// The dedup key of this schedule's items: the kind's name, and its scope where there is one.
    pub fn key(&self) -> String {
        match &self.scope {
            None => self.kind.clone(),
            Some(scope) => format!("{}/{}", self.kind, scope),
        }
    }

    /// The item of one run.
    pub(crate) fn item(&self) -> NewItem {
        NewItem {
            dedup_key: Some(self.key()),
            scope: self.scope.clone(),
            ..NewItem::new(self.kind.clone(), self.payload.clone())
        }
    }
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
