//! A granted statement that its database has prepared.

use std::collections::BTreeMap;
use std::time::Duration;

use super::database::{Database, Pool};
use super::lease::{Driver, Uncommitted};
use super::text::Text;
use super::{SqlGrant, SqlLimits, failure, postgres, single, sqlite};
use crate::bindings::workhost::handler::sql::{Rows, SqlError, Value};
use crate::capability::Caller;
use crate::control::EndedByHost;
use crate::error::LoadError;
use crate::limits::Limits;

/// How much later than the database this side gives up, so that the database is first to speak.
const GRACE: Duration = Duration::from_secs(2);

/// A statement, where it runs, and what its database said about it.
pub(crate) struct Statement {
    name: String,
    database: Database,
    plan: Plan,
    rows: Option<usize>,
    time: Option<Duration>,
}

enum Plan {
    Postgres(postgres::Plan),
    Sqlite(sqlite::Plan),
}

/// Why a statement cannot run: the text was refused before or by the database, or the latter was not there.
pub(super) enum Refusal {
    Text(String),
    Database(sqlx::Error),
}

impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        Refusal::Database(error)
    }
}

impl Statement {
    /// Checks and prepares a granted statement.
    pub(super) async fn prepare(
        name: &str,
        SqlGrant { database, statement, rows, time }: &SqlGrant,
        databases: &BTreeMap<String, Database>,
        limits: &Limits,
    ) -> Result<Self, LoadError> {
        let refused = |reason: String| LoadError::Statement { name: name.into(), database: database.clone(), reason };
        let database = databases.get(database).ok_or_else(|| refused("no such database is configured".into()))?;
        let unavailable = |reason: String| LoadError::DatabaseUnavailable {
            name: name.into(),
            database: database.name().into(),
            reason,
        };
        single::must_touch_rows_only(statement).map_err(refused)?;
        let text = Text::read(statement).map_err(refused)?;
        let preparing = async {
            match &database.pool {
                Pool::Postgres(pool) => postgres::Plan::prepare(pool.clone(), text).await.map(Plan::Postgres),
                Pool::Sqlite(pool) => sqlite::Plan::prepare(pool.clone(), text).await.map(Plan::Sqlite),
            }
        };
        match tokio::time::timeout(limits.sql_time, preparing).await {
            Ok(Ok(plan)) => {
                Ok(Statement { name: name.into(), database: database.clone(), plan, rows: *rows, time: *time })
            }
            Ok(Err(Refusal::Text(reason))) => Err(refused(reason)),
            Ok(Err(Refusal::Database(error))) => Err(match failure::for_guest(database.name(), name, &error) {
                SqlError::Unavailable(_) => unavailable(error.to_string()),
                SqlError::NotGranted(reason)
                | SqlError::Invalid(reason)
                | SqlError::Refused(reason)
                | SqlError::TooLarge(reason) => refused(reason),
            }),
            Err(_) => Err(unavailable("it did not answer in time".into())),
        }
    }

    /// Runs it and answers how many rows it changed.
    pub(super) async fn execute(
        &self,
        params: Vec<Value>,
        caller: &Caller,
        limits: SqlLimits,
    ) -> Result<Result<u64, SqlError>, EndedByHost> {
        let limits = self.limits(limits);
        match &self.plan {
            Plan::Postgres(plan) => self.run(limits, caller, plan.execute(params, caller)).await,
            Plan::Sqlite(plan) => self.run(limits, caller, plan.execute(params, caller, limits)).await,
        }
    }

    /// Runs it and answers its rows.
    pub(super) async fn query(
        &self,
        params: Vec<Value>,
        caller: &Caller,
        limits: SqlLimits,
    ) -> Result<Result<Rows, SqlError>, EndedByHost> {
        let limits = self.limits(limits);
        match &self.plan {
            Plan::Postgres(plan) => self.run(limits, caller, plan.query(params, caller, limits)).await,
            Plan::Sqlite(plan) => self.run(limits, caller, plan.query(params, caller, limits)).await,
        }
    }

    /// The grant's own limits, where they are the narrower ones.
    fn limits(&self, limits: SqlLimits) -> SqlLimits {
        let narrower = |own: Option<usize>, all: usize| own.map_or(all, |own| own.min(all));
        let time = self.time.map_or(limits.time, |own| own.min(limits.time));
        SqlLimits { rows: narrower(self.rows, limits.rows), time, ..limits }
    }

    /// Runs it, and commits it if its attempt is alive then.
    async fn run<DB: Driver, T>(
        &self,
        limits: SqlLimits,
        caller: &Caller,
        run: impl Future<Output = Result<Uncommitted<DB, T>, Failure>>,
    ) -> Result<Result<T, SqlError>, EndedByHost> {
        let uncommitted = match self.within(limits, run).await {
            Ok(uncommitted) => uncommitted,
            Err(error) => return Ok(Err(error)),
        };
        let (database, name) = (self.database.name(), &self.name);
        Ok(uncommitted.commit(caller).await?.map_err(|error| match failure::for_guest(database, name, &error) {
            SqlError::Unavailable(_) if error.as_database_error().is_none() => SqlError::Unavailable(format!(
                "database `{database}` did not answer the commit: it may have taken effect"
            )),
            told => told,
        }))
    }

    /// The brake on this side: a future that is dropped closes its connection.
    async fn within<T>(&self, limits: SqlLimits, run: impl Future<Output = Result<T, Failure>>) -> Result<T, SqlError> {
        // A grant's own time is not the server's: it learns of that by the end of the connection, so there is nobody to wait for.
        let grace = if self.time.is_some() { Duration::ZERO } else { GRACE };
        match tokio::time::timeout(limits.time + grace, run).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(Failure::Guest(error))) => Err(error),
            Ok(Err(Failure::Database(error))) => Err(failure::for_guest(self.database.name(), &self.name, &error)),
            Err(_) => Err(SqlError::Unavailable(format!("database `{}` did not answer in time", self.database.name()))),
        }
    }
}

/// Why a run failed: an error that is ready for the guest, or one of the driver's.
pub(super) enum Failure {
    Guest(SqlError),
    Database(sqlx::Error),
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Failure::Database(error)
    }
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        Failure::Guest(error)
    }
}

/// The error for a guest that sends a wrong number of parameters.
pub(super) fn must_count(wanted: usize, given: usize) -> Result<(), SqlError> {
    if wanted == given {
        Ok(())
    } else {
        Err(SqlError::Invalid(format!("the statement takes {wanted} parameters, {given} were given")))
    }
}
