//! Opening the file: how its connections are set, and its clock.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, Sqlite, SqlitePool, Transaction};

use super::trouble::{is_busy, told};
use crate::{ConnectOptions, QueueError, Result};

/// How long a write waits for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How often a file is opened for the first time: changing a new one to WAL fails at once while another process does
/// the same, whatever the busy timeout.
const TRIES: u32 = 50;

/// Connections that read. Readers wait for nobody, so a few are enough.
const READERS: u32 = 4;

/// The database's clock in milliseconds since 1970, the same within one statement.
macro_rules! now {
    () => {
        "cast(round(unixepoch('subsec') * 1000) as integer)"
    };
}
pub(super) use now;

/// The file of a URL, from what follows `sqlite://`. It is taken as it is written.
pub(super) fn path(path: &str) -> Result<PathBuf> {
    let refused = |reason: &str| Err(QueueError::Invalid { field: "url", reason: reason.to_owned() });
    match path {
        "" => {
            refused("sqlite:// lacks the path of a file, as in sqlite://workhost.db or sqlite:///var/lib/workhost.db")
        }
        ":memory:" => refused("a queue in memory is not durable: expected the path of a file after sqlite://"),
        _ if path.contains('?') => refused("sqlite:// takes no options: expected nothing but the path of a file"),
        _ => Ok(PathBuf::from(path)),
    }
}

/// How a connection to the file is set.
pub(super) fn file(path: &Path, busy_timeout: Duration) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        // Readers and the writer do not wait for each other.
        .journal_mode(SqliteJournalMode::Wal)
        // In this mode each commit reaches the disk. With `normal` a power cut could take an item whose enqueue was
        // already answered.
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(busy_timeout)
        .disable_statement_logging()
}

/// The one connection that writes, and those that read.
pub(super) async fn pools(path: &Path, options: &ConnectOptions) -> Result<(SqlitePool, SqlitePool)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(QueueError::Unusable {
            reason: format!("the folder {} does not exist: create it, or mend the store's URL", folder.display()),
        });
    }
    if !options.create && !path.exists() {
        return Err(QueueError::Unusable {
            reason: format!(
                "there is no store at {}: `workhost serve` and `workhost enqueue` make one; or mend the store's URL",
                path.display()
            ),
        });
    }
    let pool = |connections: u32| {
        SqlitePoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(options.acquire_timeout.max(BUSY_TIMEOUT))
            .idle_timeout(None)
            .max_lifetime(None)
            // SQLite ends a transaction by itself on some errors, a full disk for one. The driver still counts it as open
            // then, and would refuse to begin another: such a connection is replaced.
            .before_acquire(|connection, _| Box::pin(async move { Ok(!connection.is_in_transaction()) }))
    };
    let writer = pool(1).connect_lazy_with(file(path, BUSY_TIMEOUT));
    let readers = pool(READERS).connect_lazy_with(file(path, BUSY_TIMEOUT).pragma("query_only", "on"));
    for _ in 1..TRIES {
        match writer.acquire().await {
            Err(error) if is_busy(&error) => tokio::time::sleep(Duration::from_millis(100)).await,
            Err(error) => return Err(told(error)),
            Ok(_) => return Ok((writer, readers)),
        }
    }
    writer.acquire().await.map_err(told)?;
    Ok((writer, readers))
}

/// What tells one file from another of the same name: device and inode.
pub(super) fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).map(|meta| (meta.dev(), meta.ino()))
}

/// A transaction that writes. It takes the file's write lock first, so that what it reads stays true.
pub(super) async fn write(writer: &SqlitePool) -> sqlx::Result<Transaction<'static, Sqlite>> {
    writer.begin_with("begin immediate").await
}

/// A duration in microseconds as this store takes it.
pub(super) fn millis(micros: i64) -> i64 {
    micros / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_one_file() {
        assert_eq!(path("/var/lib/a b.db").unwrap(), PathBuf::from("/var/lib/a b.db"));
        for odd in ["", ":memory:", "x.db?mode=rwc"] {
            assert!(path(odd).is_err(), "{odd}");
        }
    }
}
