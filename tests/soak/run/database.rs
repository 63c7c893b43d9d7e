//! The store's database, and what can be done to it.

use std::time::Duration;

use anyhow::{Context as _, Result};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};

use super::plan::{Plan, Store};

/// Makes an empty database and answers its URL.
pub(super) async fn create(plan: &Plan) -> Result<String> {
    if plan.store == Store::Sqlite {
        return Ok(format!("sqlite://{}", plan.folder.join("store.db").display()));
    }
    let server = plan.server.as_deref().context("no PostgreSQL server: run `cargo xtask soak`")?;
    let database = format!("soak_{}_{}", std::process::id(), plan.seed);
    let mut connection = PgConnection::connect(server).await?;
    sqlx::raw_sql(AssertSqlSafe(format!("create database {database}"))).execute(&mut connection).await?;
    let (base, _) = server.rsplit_once('/').context("the server's URL names no database")?;
    Ok(format!("{base}/{database}"))
}

/// Holds a SQLite store's write lock for so long, as a careless tool would.
pub(super) async fn hold_sqlite(url: &str, long: Duration) -> Result<()> {
    let mut connection = SqliteConnection::connect(url).await?;
    let tx = connection.begin_with("begin immediate").await?;
    tokio::time::sleep(long).await;
    Ok(tx.rollback().await?)
}

/// Ends all sessions of a PostgreSQL store but our own.
pub(super) async fn end_sessions(url: &str) -> Result<()> {
    let mut connection = PgConnection::connect(url).await?;
    let end = "select count(pg_terminate_backend(a.pid)) from pg_stat_activity a
        where a.datname = current_database() and a.pid <> pg_backend_pid()";
    sqlx::query(end).execute(&mut connection).await?;
    Ok(())
}
