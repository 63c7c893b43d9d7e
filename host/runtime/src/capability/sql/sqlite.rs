//! Running statements on SQLite. SQLite types values, not columns: a value goes in as its case says, and
//! comes out as it is stored, with a look at the column's declared type for booleans and times.

mod value;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use futures::TryStreamExt;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqlitePool};
use sqlx::{AssertSqlSafe, Column, Either, Executor, SqlSafeStr, Statement as _};

use self::value::{bind, decode};
use super::database::Writable;
use super::lease::{Lease, Uncommitted};
use super::statement::{Failure, Refusal, must_count};
use super::text::{Own, Text};
use super::{Collector, SqlLimits, single};
use crate::bindings::workhost::handler::sql::{Rows, SqlError, Value};
use crate::capability::Caller;

/// How many steps of SQLite's machine pass between two looks at the clock: some 50 µs.
const STEPS: i32 = 2000;

/// A prepared statement: its text, and what is known of it.
pub(super) struct Plan {
    pool: SqlitePool,
    text: Arc<str>,
    /// The handler's.
    parameters: usize,
    own: Vec<Own>,
    columns: Vec<String>,
}

impl Plan {
    pub(super) async fn prepare(pool: SqlitePool, Text { sql: text, own }: Text) -> Result<Self, Refusal> {
        single::must_be_one(&text).map_err(Refusal::Text)?;
        let mut lease = Lease::begin(&pool).await?;
        let prepared = lease.prepare(AssertSqlSafe(text.clone()).into_sql_str()).await;
        let prepared = lease.ran(prepared).await?.roll_back().await?;
        let parameters = match prepared.parameters() {
            Some(Either::Left(types)) => types.len(),
            Some(Either::Right(count)) => count,
            None => 0,
        }
        .saturating_sub(own.len());
        let columns = prepared.columns().iter().map(|column| column.name().to_owned()).collect();
        Ok(Plan { pool, text, parameters, own, columns })
    }

    pub(super) async fn execute(
        &self,
        params: Vec<Value>,
        caller: &Caller,
        limits: SqlLimits,
    ) -> Result<Uncommitted<Sqlite, u64>, Failure> {
        let arguments = self.bind(params, caller)?;
        let (mut lease, brake) = self.start(limits).await?;
        let done = sqlx::query_with(AssertSqlSafe(self.text.clone()), arguments).execute(&mut *lease).await;
        brake.release();
        Ok(lease.ran(done).await?.map(|done| done.rows_affected()))
    }

    pub(super) async fn query(
        &self,
        params: Vec<Value>,
        caller: &Caller,
        limits: SqlLimits,
    ) -> Result<Uncommitted<Sqlite, Rows>, Failure> {
        let arguments = self.bind(params, caller)?;
        let (mut lease, brake) = self.start(limits).await?;
        let mut collector = Collector::new(limits);
        let ended = {
            let mut rows = sqlx::query_with(AssertSqlSafe(self.text.clone()), arguments).fetch(&mut *lease);
            loop {
                match rows.try_next().await {
                    Ok(Some(row)) => collector.push(decode(&row)?)?,
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            }
        };
        brake.release();
        Ok(lease.ran(ended).await?.map(|()| collector.rows(self.columns.clone())))
    }

    /// A connection whose next statement is interrupted when its time is over, or its attempt.
    async fn start(&self, limits: SqlLimits) -> Result<(Lease<Sqlite>, Brake), Failure> {
        let until = Instant::now() + limits.time;
        let mut lease = Lease::begin(&self.pool).await?;
        let brake = Brake::default();
        let state = brake.0.clone();
        lease.lock_handle().await?.set_progress_handler(STEPS, move || match state.load(Ordering::Relaxed) {
            RELEASED => true,
            PULLED => false,
            _ => Instant::now() < until,
        });
        Ok((lease, brake))
    }

    fn bind(&self, params: Vec<Value>, caller: &Caller) -> Result<SqliteArguments, SqlError> {
        must_count(self.parameters, params.len())?;
        let mut arguments = SqliteArguments::default();
        let own = self.own.iter().map(|own| own.value(caller));
        for (index, value) in params.into_iter().chain(own).enumerate() {
            let number = index + 1;
            bind(&mut arguments, value).map_err(|reason| SqlError::Invalid(format!("parameter {number}: {reason}")))?;
        }
        Ok(arguments)
    }
}

/// The tables of these names in the file, if any.
pub(super) async fn writable(pool: &SqlitePool, tables: &[&str]) -> Option<Writable> {
    let there: Vec<String> = sqlx::query_scalar("select name from sqlite_master where type = 'table' order by name")
        .fetch_all(pool)
        .await
        .ok()?;
    // All of them: others may have a table of one of these names.
    let all = tables.iter().all(|table| there.iter().any(|name| name == table));
    let mend = "give the application a file of its own, or open this one with `?mode=ro`".to_owned();
    all.then(|| Writable { tables: tables.iter().map(ToString::to_string).collect(), mend })
}

/// Interrupts the statement if it still runs when this is dropped: its attempt has gone.
#[derive(Default)]
struct Brake(Arc<AtomicU8>);

/// The statement is to be interrupted.
const PULLED: u8 = 1;
/// The statement is over. The look at the clock stays with the connection until the next one, and must
/// not interrupt what runs in between.
const RELEASED: u8 = 2;

impl Brake {
    fn release(self) {
        self.0.store(RELEASED, Ordering::Relaxed);
    }
}

impl Drop for Brake {
    fn drop(&mut self) {
        // Only from running to pulled: a release stays.
        let _ = self.0.compare_exchange(0, PULLED, Ordering::Relaxed, Ordering::Relaxed);
    }
}
