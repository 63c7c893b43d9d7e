//! The durable queue: work items, claims, leases and schedules, on PostgreSQL and on SQLite.
//!
//! [`Queue`] and [`HostQueue`] state the verbs and what each promises; [`connect`] opens a store by its URL. Both stores
//! keep the same promises, shown by one contract suite (`tests/contract`). This is the only crate
//! that knows the queue's SQL, and it knows nothing of components.

/// The schema of PostgreSQL that holds the queue's tables.
pub const SCHEMA: &str = "workhost";

/// Tables by which a SQLite file is known to be a queue's.
pub const TABLES: [&str; 4] = ["work_items", "schedules", "pauses", "forgotten"];

mod attempts;
mod audit;
mod changes;
mod claim;
mod claiming;
mod connect;
mod cron;
mod ending;
mod enqueue;
mod error;
mod finish;
mod heartbeat;
mod hosts;
mod item;
mod json;
mod limits;
mod list;
mod migration;
mod pause;
mod postgres;
mod schedule;
mod sqlite;
mod tokens;
mod verbs;

pub use attempts::{AttemptRecord, KEPT_ATTEMPTS};
pub use audit::{AUDIT_KEPT, AuditEntry, AuditPage, Deed};
pub use changes::{Changes, Cursor};
pub use claim::{Claim, ClaimRequest, KindSlots, LastChances};
pub use connect::{ConnectOptions, Pooler, connect};
pub use cron::{Cron, CronPart, InvalidCron};
pub use enqueue::{Enqueued, NewItem};
pub use error::{QueueError, Result};
pub use finish::{Finish, Outcome, Recorded, Recovered};
pub use heartbeat::{Beat, Pulse};
pub use hosts::{HostReport, HostSeen};
pub use item::{Fence, ItemId, Status, WorkItem};
pub use json::{InvalidJson, Json};
pub use limits::{DEFAULT_PAYLOAD_BYTES, Limits};
pub use list::{Count, Filter};
pub use pause::{Pausable, Paused};
pub use schedule::{Periodic, Schedule};
pub use tokens::{NewToken, Role, Token, TokenId};
pub use verbs::{CancelAnswer, HostQueue, Migrated, Queue, Serving};
