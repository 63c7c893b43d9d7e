//! Running statements on PostgreSQL, which types every parameter and column when it prepares: each value
//! goes over the wire as its type wants it.

mod value;
mod writable;

use std::sync::Arc;

use futures::TryStreamExt;
use sqlx::postgres::{PgArguments, PgPool, PgRow, Postgres};
use sqlx::{AssertSqlSafe, Column, Either, Executor, SqlSafeStr, Statement as _, TypeInfo};

use self::value::{Kind, bind, decode};
pub(super) use self::writable::writable;
use super::lease::{Lease, Uncommitted};
use super::statement::{Failure, Refusal, must_count};
use super::text::{Own, Text};
use super::{Collector, SqlLimits};
use crate::bindings::workhost::handler::sql::{Rows, SqlError, Value};
use crate::capability::Caller;

/// A prepared statement: its text, and the types that the server told.
pub(super) struct Plan {
    pool: PgPool,
    text: Arc<str>,
    /// The handler's, then those of the item.
    parameters: Vec<Kind>,
    own: Vec<Own>,
    columns: Vec<(String, Kind)>,
}

impl Plan {
    pub(super) async fn prepare(pool: PgPool, Text { sql: text, own }: Text) -> Result<Self, Refusal> {
        let mut lease = Lease::begin(&pool).await?;
        let prepared = lease.prepare(AssertSqlSafe(text.clone()).into_sql_str()).await;
        let prepared = lease.ran(prepared).await?.roll_back().await?;
        let Some(Either::Left(types)) = prepared.parameters() else {
            return Err(Refusal::Text("the server told no types of its parameters".into()));
        };
        let mut parameters = Vec::new();
        for (index, info) in types.iter().enumerate() {
            let number = index + 1;
            let kind = Kind::of(info).filter(|kind| *kind != Kind::Void).ok_or_else(|| {
                let name = info.name().to_lowercase();
                Refusal::Text(format!(
                    "parameter ${number} is of type {name}, which no value has: write `${number}::text::{name}`"
                ))
            })?;
            parameters.push(kind);
        }
        let items = &parameters[parameters.len().saturating_sub(own.len())..];
        for (value, kind) in own.iter().zip(items) {
            bind(&mut PgArguments::default(), *kind, value.sample()).map_err(|reason| {
                let name = value.name();
                Refusal::Text(format!("`{name}`: {reason}; say its type, as in `{name}::bigint` or `{{scope}}::text`"))
            })?;
        }
        let mut columns = Vec::new();
        for column in prepared.columns() {
            let kind = Kind::of(column.type_info()).ok_or_else(|| {
                let (name, kind) = (column.name(), column.type_info().name().to_lowercase());
                Refusal::Text(format!(
                    "column `{name}` is of type {kind}, which no value has: cast it, for example to text"
                ))
            })?;
            columns.push((column.name().to_owned(), kind));
        }
        Ok(Plan { pool, text, parameters, own, columns })
    }

    pub(super) async fn execute(
        &self,
        params: Vec<Value>,
        caller: &Caller,
    ) -> Result<Uncommitted<Postgres, u64>, Failure> {
        let arguments = self.bind(params, caller)?;
        let mut lease = self.start().await?;
        let done = sqlx::query_with(AssertSqlSafe(self.text.clone()), arguments).execute(&mut *lease).await;
        Ok(lease.ran(done).await?.map(|done| done.rows_affected()))
    }

    pub(super) async fn query(
        &self,
        params: Vec<Value>,
        caller: &Caller,
        limits: SqlLimits,
    ) -> Result<Uncommitted<Postgres, Rows>, Failure> {
        let arguments = self.bind(params, caller)?;
        let mut lease = self.start().await?;
        let mut collector = Collector::new(limits);
        let ended = {
            let mut rows = sqlx::query_with(AssertSqlSafe(self.text.clone()), arguments).fetch(&mut *lease);
            loop {
                match rows.try_next().await {
                    Ok(Some(row)) => collector.push(self.decode(&row)?)?,
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            }
        };
        let columns = self.columns.iter().map(|(name, _)| name.clone());
        Ok(lease.ran(ended).await?.map(|()| collector.rows(columns.collect())))
    }

    /// A connection on which the statement is prepared with the types that the server infers. Without this
    /// a new connection would take the types of the first values instead.
    async fn start(&self) -> Result<Lease<Postgres>, Failure> {
        let mut lease = Lease::begin(&self.pool).await?;
        lease.prepare(AssertSqlSafe(self.text.clone()).into_sql_str()).await?;
        Ok(lease)
    }

    fn bind(&self, params: Vec<Value>, caller: &Caller) -> Result<PgArguments, SqlError> {
        must_count(self.parameters.len().saturating_sub(self.own.len()), params.len())?;
        let mut arguments = PgArguments::default();
        let own = self.own.iter().map(|own| own.value(caller));
        for (index, (value, kind)) in params.into_iter().chain(own).zip(&self.parameters).enumerate() {
            let number = index + 1;
            bind(&mut arguments, *kind, value)
                .map_err(|reason| SqlError::Invalid(format!("parameter {number}: {reason}")))?;
        }
        Ok(arguments)
    }

    fn decode(&self, row: &PgRow) -> Result<Vec<Value>, SqlError> {
        let columns = self.columns.iter().enumerate();
        let values = columns.map(|(index, (name, kind))| {
            decode(row, index, *kind).map_err(|error| SqlError::Invalid(format!("column `{name}`: {error}")))
        });
        values.collect()
    }
}
