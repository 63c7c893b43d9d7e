//! `sql`: named statements on the application's databases. The guest names a statement; its text and the
//! database's URL stay on this side.

mod database;
mod failure;
mod lease;
mod postgres;
mod single;
mod sqlite;
mod statement;
mod text;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wasmtime::component::HasSelf;

use super::{Caller, Capability, GrantForm};
use crate::bindings::workhost::handler::sql::{self, Rows, SqlError, Value};
use crate::error::LoadError;
use crate::limits::Limits;
use crate::sandbox::State;

pub use database::{Database, DatabaseError, Writable};
pub(crate) use statement::Statement;
use text::Text;

pub(crate) const CAPABILITY: Capability = Capability {
    form: GrantForm {
        key: "sql",
        toml: "  [handlers.sql.NAME]            # one for each statement that it names\n  database = \"…\"                 # a name of [databases]\n  statement = \"…\"\n",
    },
    interfaces: &["workhost:handler/sql"],
    inert: false,
    is_granted: |grants| !grants.sql.is_empty(),
    link: |linker, _| sql::add_to_linker::<State, HasSelf<SqlContext>>(linker, |state| &mut state.contexts.sql),
};

/// One statement that a handler may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlGrant {
    /// Where it runs: the database's name.
    pub database: String,
    /// Its text: one statement that reads or changes rows. `{id}`, `{attempt}` and `{scope}` stand for those of the item
    /// that is running.
    pub statement: String,
    /// Rows that a query may answer, instead of [`Limits::sql_rows`], and no more than that.
    pub rows: Option<usize>,
    /// How long it may take, instead of [`Limits::sql_time`], and no longer than that.
    pub time: Option<Duration>,
}

/// Prepares each statement on its database, which checks it and tells the types of its parameters and
/// columns where the database knows them.
pub(crate) async fn prepare(
    grants: &BTreeMap<String, SqlGrant>,
    databases: &BTreeMap<String, Database>,
    limits: &Limits,
) -> Result<BTreeMap<String, Statement>, LoadError> {
    let (mut statements, mut errors) = (BTreeMap::new(), Vec::new());
    for (name, grant) in grants {
        match Statement::prepare(name, grant, databases, limits).await {
            Ok(statement) => drop(statements.insert(name.clone(), statement)),
            Err(error) => errors.push(error),
        }
    }
    LoadError::all(errors)?;
    Ok(statements)
}

/// Whether each text is one statement that a handler may run, as far as can be told without its database.
pub(crate) fn check(grants: &BTreeMap<String, SqlGrant>) -> Vec<LoadError> {
    let error = |(name, SqlGrant { database, statement, .. }): (&String, &SqlGrant)| {
        let reason = single::must_touch_rows_only(statement).and_then(|()| Text::read(statement)).err()?;
        Some(LoadError::Statement { name: name.clone(), database: database.clone(), reason })
    };
    grants.iter().filter_map(error).collect()
}

/// What the attempt's calls of `sql` reach.
pub(crate) struct SqlContext {
    caller: Arc<Caller>,
    statements: Arc<BTreeMap<String, Statement>>,
    limits: SqlLimits,
}

/// The limits of one statement's run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SqlLimits {
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
    pub(crate) time: Duration,
}

impl SqlContext {
    pub(crate) fn new(caller: Arc<Caller>, statements: Arc<BTreeMap<String, Statement>>, limits: &Limits) -> Self {
        let limits = SqlLimits { rows: limits.sql_rows, bytes: limits.sql_bytes, time: limits.sql_time };
        SqlContext { caller, statements, limits }
    }

    fn statement(&self, name: &str) -> Result<&Statement, SqlError> {
        self.statements.get(name).ok_or_else(|| {
            SqlError::NotGranted(format!("no statement `{}` is granted to this handler", name.escape_debug()))
        })
    }
}

impl sql::Host for SqlContext {
    async fn execute(&mut self, statement: String, params: Vec<Value>) -> wasmtime::Result<Result<u64, SqlError>> {
        self.caller.alive()?;
        let statement = match self.statement(&statement) {
            Ok(statement) => statement,
            Err(error) => return Ok(Err(error)),
        };
        Ok(statement.execute(params, &self.caller, self.limits).await?)
    }

    async fn query(&mut self, statement: String, params: Vec<Value>) -> wasmtime::Result<Result<Rows, SqlError>> {
        self.caller.alive()?;
        let statement = match self.statement(&statement) {
            Ok(statement) => statement,
            Err(error) => return Ok(Err(error)),
        };
        Ok(statement.query(params, &self.caller, self.limits).await?)
    }
}

/// The word for a value's case, for messages that must not show the value.
pub(crate) fn case(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Boolean(_) => "boolean",
        Value::Integer(_) => "integer",
        Value::Float(_) => "float",
        Value::Text(_) => "text",
        Value::Bytes(_) => "bytes",
        Value::Timestamp(_) => "timestamp",
        Value::Uuid(_) => "uuid",
        Value::Json(_) => "json",
    }
}

/// Collects rows for a guest, within its limits.
pub(crate) struct Collector {
    rows: Vec<Vec<Value>>,
    bytes: usize,
    limits: SqlLimits,
}

impl Collector {
    pub(crate) fn new(limits: SqlLimits) -> Self {
        Collector { rows: Vec::new(), bytes: 0, limits }
    }

    pub(crate) fn push(&mut self, row: Vec<Value>) -> Result<(), SqlError> {
        if self.rows.len() == self.limits.rows {
            return Err(SqlError::TooLarge(format!("more than {} rows: ask in pages", self.limits.rows)));
        }
        // Each value takes a few words besides its content.
        self.bytes += row.iter().map(|value| 16 + content(value)).sum::<usize>();
        if self.bytes > self.limits.bytes {
            return Err(SqlError::TooLarge(format!(
                "rows larger than {} together: ask in pages",
                crate::text::size(self.limits.bytes)
            )));
        }
        self.rows.push(row);
        Ok(())
    }

    pub(crate) fn rows(self, columns: Vec<String>) -> Rows {
        Rows { columns, rows: self.rows }
    }
}

fn content(value: &Value) -> usize {
    match value {
        Value::Text(text) | Value::Uuid(text) | Value::Json(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Null | Value::Boolean(_) | Value::Integer(_) | Value::Float(_) | Value::Timestamp(_) => 0,
    }
}

#[cfg(test)]
mod tests;
