//! Opening a store by its URL.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::{Limits, Queue, QueueError, Result, postgres, sqlite};

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// What the queue accepts.
    pub limits: Limits,
    /// Connections to PostgreSQL at most that a host's claims, finishes and API calls share; 8. None is held while a
    /// handler runs. Beside them there is one for heartbeats alone and, without a pooler, one that listens for new
    /// work: ten by default. SQLite takes one writer and up to four readers.
    pub max_connections: u32,
    /// How long a verb waits for its turn to use a connection, and then for one to open, if none is; 5 seconds each.
    pub acquire_timeout: Duration,
    /// How long `migrate` waits while another migrates; 30 seconds.
    pub migration_wait: Duration,
    /// The name under which this process appears in PostgreSQL's views; `workhost`. A name in the URL wins.
    pub application_name: String,
    /// What stands between this process and PostgreSQL; nothing.
    pub pooler: Pooler,
    /// Whether a SQLite file that is missing is made; yes. Who only wants to look is told that there is no store.
    pub create: bool,
}

/// A connection pooler in front of PostgreSQL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooler {
    /// The server itself.
    #[default]
    None,
    /// PgBouncer with `pool_mode = transaction`, or one that works alike. It costs each verb more rounds, and this
    /// process is not woken by others: it finds their work by polling.
    Transaction,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        ConnectOptions {
            limits: Limits::default(),
            max_connections: 8,
            acquire_timeout: Duration::from_secs(5),
            migration_wait: Duration::from_secs(30),
            application_name: "workhost".to_owned(),
            pooler: Pooler::None,
            create: true,
        }
    }
}

/// Opens the store at `url`: `postgres://…`, or `sqlite://` and the path of a file, which is created if it
/// is missing and [`create`](ConnectOptions::create) says so. The schema is left alone; that is [`Queue::migrate`].
///
/// Answers [`Invalid`](QueueError::Invalid) for a URL it cannot read, [`Unavailable`](QueueError::Unavailable)
/// or [`Unusable`](QueueError::Unusable) for a store that does not answer or does not fit. No error
/// repeats the URL, since it may hold a password.
pub async fn connect(url: &str, options: ConnectOptions) -> Result<Arc<dyn Queue>> {
    match url.split_once("://") {
        Some(("sqlite", path)) => Ok(Arc::new(sqlite::SqliteQueue::open(path, options).await?)),
        Some(("postgres" | "postgresql", _)) => Ok(Arc::new(postgres::PostgresQueue::open(url, options).await?)),
        _ => Err(QueueError::Invalid {
            field: "url",
            reason: "expected sqlite:// and the path of a file, or postgres://user@host/database".to_owned(),
        }),
    }
}
