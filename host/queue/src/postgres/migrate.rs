//! Bringing the schema up to date, under a lock of our own.

use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgExecutor, Row};
use tokio::time::Instant;

use super::connections::{CONNECT, connect};
use super::pool::Pool;
use super::session::{self, left};
use super::trouble::{is_lock_timeout, is_undefined, told};
use crate::migration::{Applied, Migration, migrated, none_pending, pending};
use crate::{Migrated, Pooler, QueueError, Result};

const MIGRATIONS: [Migration; 1] = [Migration {
    version: 1,
    name: "0001_work_items",
    sql: concat!(
        include_str!("../../../../migrations/postgres/0001_work_items.sql"),
        include_str!("../../../../migrations/postgres/0001a_payload_flaw.sql"),
        include_str!("../../../../migrations/postgres/0001b_enqueue.sql"),
    ),
    oldest_binary: 1,
}];

/// The advisory lock of migrators: `workhost` in ASCII.
const LOCK: i64 = 0x776f_726b_686f_7374;

/// How often a migrator asks for the lock, and for what a migration needs.
const ASK_EVERY: Duration = Duration::from_millis(200);

/// How a migration waits. For a lock only shortly, and less than the hosts wait for one: whatever they ask of a table
/// waits behind a migration that waits for it.
const PATIENCE: &str = "set local lock_timeout = '100ms'; set local statement_timeout = 0";

/// Migrates in one transaction, which has the lock: whatever ends it, it gives the lock back and leaves a schema whole.
pub(super) async fn migrate(server: &PgConnectOptions, pooler: Pooler, wait: Duration) -> Result<Migrated> {
    let mut connection = connect(server, CONNECT).await.map_err(told)?;
    let deadline = Instant::now() + wait;
    loop {
        begin_locked(&mut connection, pooler, deadline).await?;
        let before = before(&mut connection).await.map_err(told)?;
        let pending = pending(&MIGRATIONS, &before)?;
        match apply_all(&mut connection, &pending).await {
            Err(error) if is_lock_timeout(&error) => pause(&mut connection, deadline).await?,
            Err(error) => return Err(told(error)),
            Ok(()) => {
                sqlx::raw_sql("commit").execute(&mut connection).await.map_err(told)?;
                connection.close().await.map_err(told)?;
                return Ok(migrated(&before, &pending));
            }
        }
    }
}

/// Gives the lock back for a while, so that others get on; gives up when the time is over.
async fn pause(connection: &mut PgConnection, deadline: Instant) -> Result<()> {
    sqlx::raw_sql("rollback").execute(connection).await.map_err(told)?;
    let Some(left) = left(deadline) else {
        return Err(QueueError::Held {
            what: "a lock that the migration needs".to_owned(),
            holder: "another session; look in pg_stat_activity for the one whose transaction is open longest"
                .to_owned(),
        });
    };
    tokio::time::sleep(left.min(ASK_EVERY)).await;
    Ok(())
}

/// Asks whether the schema fits this build, and changes nothing.
pub(super) async fn check(pool: &Pool) -> Result<()> {
    none_pending(&MIGRATIONS, &applied(pool).await.map_err(told)?)
}

/// Begins a transaction that has the migrators' lock. PostgreSQL would wait for it for ever, so it is asked again
/// and again instead.
async fn begin_locked(connection: &mut PgConnection, pooler: Pooler, deadline: Instant) -> Result<()> {
    let begin = session::begin(pooler, PATIENCE);
    loop {
        sqlx::raw_sql(AssertSqlSafe(begin.as_str())).execute(&mut *connection).await.map_err(told)?;
        let locked: bool = sqlx::query_scalar("select pg_try_advisory_xact_lock($1)")
            .bind(LOCK)
            // A pooler keeps no statement for us.
            .persistent(false)
            .fetch_one(&mut *connection)
            .await
            .map_err(told)?;
        if locked {
            return Ok(());
        }
        let Some(left) = left(deadline) else {
            return Err(QueueError::Held {
                what: "the migration lock".to_owned(),
                holder: holder(connection).await.map_err(told)?,
            });
        };
        sqlx::raw_sql("rollback").execute(&mut *connection).await.map_err(told)?;
        tokio::time::sleep(left.min(ASK_EVERY)).await;
    }
}

/// Who has the migrators' lock, in words.
async fn holder(connection: &mut PgConnection) -> sqlx::Result<String> {
    let holder: Option<String> = sqlx::query_scalar(
        "select format('the session with pid %s (application %s, user %s, from %s)', l.pid,
            coalesce(nullif(a.application_name, ''), 'unnamed'), a.usename, coalesce(host(a.client_addr), 'a local socket'))
        from pg_locks l join pg_stat_activity a on a.pid = l.pid
        where l.locktype = 'advisory' and l.granted and l.objsubid = 1
            and l.database = (select d.oid from pg_database d where d.datname = current_database())
            and l.classid::bigint = $1 >> 32 and l.objid::bigint = $1 & 4294967295
        limit 1",
    )
    .bind(LOCK)
    .persistent(false)
    .fetch_optional(connection)
    .await?;
    Ok(holder.unwrap_or_else(|| "a session that just ended".to_owned()))
}

/// What was applied before this migrator came.
async fn before(connection: &mut PgConnection) -> sqlx::Result<Vec<Applied>> {
    if is_there(connection).await? { applied(connection).await } else { Ok(Vec::new()) }
}

async fn apply_all(connection: &mut PgConnection, pending: &[&Migration]) -> sqlx::Result<()> {
    for migration in pending {
        apply(connection, migration).await?;
    }
    Ok(())
}

/// Whether workhost was ever here. Asked without an error, which would end the transaction.
async fn is_there(connection: &mut PgConnection) -> sqlx::Result<bool> {
    sqlx::query_scalar("select to_regclass('workhost.schema_migrations') is not null")
        .persistent(false)
        .fetch_one(connection)
        .await
}

/// What was applied so far; nothing in a database that workhost never saw.
async fn applied(executor: impl PgExecutor<'_>) -> sqlx::Result<Vec<Applied>> {
    let rows = sqlx::query(
        "select m.version, m.name, m.checksum, m.oldest_binary from workhost.schema_migrations m order by 1",
    )
    .persistent(false)
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
async fn apply(connection: &mut PgConnection, migration: &Migration) -> sqlx::Result<()> {
    sqlx::raw_sql(
        "create schema if not exists workhost;
        create table if not exists workhost.schema_migrations (
            version bigint constraint schema_migrations_pkey primary key,
            name text not null,
            -- SHA-256 of the statements.
            checksum text not null,
            -- The oldest schema version whose binaries still work beside this migration.
            oldest_binary bigint not null,
            applied_at timestamptz not null default now()
        )",
    )
    .execute(&mut *connection)
    .await?;
    sqlx::raw_sql(migration.sql).execute(&mut *connection).await?;
    sqlx::query(
        "insert into workhost.schema_migrations (version, name, checksum, oldest_binary) values ($1, $2, $3, $4)",
    )
    .bind(migration.version)
    .bind(migration.name)
    .bind(migration.checksum())
    .bind(migration.oldest_binary)
    .persistent(false)
    .execute(connection)
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
}
