//! Bringing the schema up to date, under the file's write lock.

use std::path::Path;
use std::time::Duration;

use sqlx::{ConnectOptions as _, Connection, Executor, Row, Sqlite, SqliteConnection, SqlitePool};

use super::session::{file, now};
use super::trouble::{is_busy, is_undefined, told};
use crate::migration::{Applied, Migration, migrated, none_pending, pending};
use crate::{Migrated, QueueError, Result};

const MIGRATIONS: [Migration; 1] = [Migration {
    version: 1,
    name: "0001_work_items",
    sql: include_str!("../../../../migrations/sqlite/0001_work_items.sql"),
    oldest_binary: 1,
}];

/// Applies what is pending in one transaction. It begins with the write lock, so of two migrators one waits, and
/// then finds nothing to do.
pub(super) async fn migrate(path: &Path, wait: Duration) -> Result<Migrated> {
    let mut connection = file(path, wait).connect().await.map_err(told)?;
    let mut tx = connection.begin_with("begin immediate").await.map_err(|error| not_begun(path, error))?;
    let before = applied(&mut *tx).await.map_err(told)?;
    let pending = pending(&MIGRATIONS, &before)?;
    for migration in &pending {
        apply(&mut tx, migration).await.map_err(told)?;
    }
    tx.commit().await.map_err(told)?;
    connection.close().await.map_err(told)?;
    Ok(migrated(&before, &pending))
}

/// Why the file's write lock was not to be had.
fn not_begun(path: &Path, error: sqlx::Error) -> QueueError {
    if !is_busy(&error) {
        return told(error);
    }
    QueueError::Held {
        what: format!("the write lock of {}", path.display()),
        holder: format!("another process that writes to the file; `fuser {}` tells which have it open", path.display()),
    }
}

/// Asks whether the schema fits this build, and changes nothing.
pub(super) async fn check(readers: &SqlitePool) -> Result<()> {
    none_pending(&MIGRATIONS, &applied(readers).await.map_err(told)?)
}

/// What was applied so far; nothing in a file that workhost never saw.
async fn applied(executor: impl Executor<'_, Database = Sqlite>) -> sqlx::Result<Vec<Applied>> {
    let rows = sqlx::query("select version, name, checksum, oldest_binary from schema_migrations order by 1")
        .fetch_all(executor)
        .await;
    match rows {
        Ok(rows) => rows
            .iter()
            .map(|row| {
                Ok(Applied {
                    version: row.try_get("version")?,
                    name: row.try_get("name")?,
                    checksum: row.try_get("checksum")?,
                    oldest_binary: row.try_get("oldest_binary")?,
                })
            })
            .collect(),
        Err(error) if is_undefined(&error) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Runs one migration and records it.
async fn apply(tx: &mut SqliteConnection, migration: &Migration) -> sqlx::Result<()> {
    sqlx::raw_sql(
        "create table if not exists schema_migrations (
            version integer constraint schema_migrations_pkey primary key,
            name text not null,
            -- SHA-256 of the statements.
            checksum text not null,
            -- The oldest schema version whose binaries still work beside this migration.
            oldest_binary integer not null,
            applied_at integer not null
        ) strict",
    )
    .execute(&mut *tx)
    .await?;
    sqlx::raw_sql(migration.sql).execute(&mut *tx).await?;
    sqlx::query(concat!(
        "insert into schema_migrations (version, name, checksum, oldest_binary, applied_at)
        values (?1, ?2, ?3, ?4, ",
        now!(),
        ")"
    ))
    .bind(migration.version)
    .bind(migration.name)
    .bind(migration.checksum())
    .bind(migration.oldest_binary)
    .execute(tx)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_migrations_are_in_order_and_the_changelog_tells_which_way_each_goes() {
        crate::migration::assert_in_order_and_told(&MIGRATIONS);
    }

    #[test]
    fn a_lock_that_was_not_asked_for_in_vain_is_not_held() {
        let told = not_begun(Path::new("queue.db"), sqlx::Error::PoolTimedOut);
        assert!(matches!(told, QueueError::Unavailable { .. }), "{told:?}");
    }
}
