//! The verbs' connections, with a pooler in front of the server or without.
//!
//! PgBouncer in transaction mode lends a server's connection for one transaction. Nothing may be kept on it: no
//! setting, no prepared statement. sqlx sends a statement in two rounds, which must meet the same connection.
//! So every statement runs unnamed there, inside an explicit transaction that brings its settings along.

use std::ops::{Deref, DerefMut};

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgRow, PgStatement, PgTypeInfo};
use sqlx::{AssertSqlSafe, Either, Execute, Executor, Postgres, SqlStr};

use super::connections::{Connections, Lent, Step, goes_on};
use super::session;
use crate::{ConnectOptions, Pooler};

/// The connections that verbs share. As an executor it runs one statement.
#[derive(Debug)]
pub(super) struct Pool {
    connections: Connections,
    pooler: Pooler,
}

impl Pool {
    /// Up to `most` connections. Connects when it is first used.
    pub(super) fn new(server: &PgConnectOptions, options: &ConnectOptions, most: u32) -> Pool {
        Pool { connections: Connections::new(server, most, options.acquire_timeout), pooler: options.pooler }
    }

    /// A transaction.
    pub(super) async fn begin(&self) -> sqlx::Result<Tx> {
        self.begin_with("").await
    }

    /// A transaction that begins with some more statements.
    pub(super) async fn begin_with(&self, more: &str) -> sqlx::Result<Tx> {
        let begin = session::begin(self.pooler, more);
        let mut lent = self.connections.lend().await?;
        lent.run(sqlx::raw_sql(AssertSqlSafe(begin))).await?;
        Ok(Tx(Session { lent, pooler: self.pooler }))
    }

    /// Runs one statement to its end. Nothing is answered before it is committed.
    async fn run<'q>(&self, query: impl Execute<'q, Postgres> + 'q) -> sqlx::Result<Vec<Step>> {
        match self.pooler {
            Pooler::None => {
                let mut lent = self.connections.lend().await?;
                let steps = lent.run(query).await;
                lent.give_back(steps)
            }
            Pooler::Transaction => {
                let mut tx = self.begin().await?;
                let steps = tx.run(query).await;
                tx.settle(steps).await
            }
        }
    }
}

/// An open transaction. Its connection is closed when it is dropped, and so the server rolls back.
pub(super) struct Tx(Session);

impl Tx {
    /// Commits what worked, or rolls back what did not, before the caller hears of it: its rows are free then for the
    /// next claim, sweep or try.
    pub(super) async fn settle<T>(self, worked: sqlx::Result<T>) -> sqlx::Result<T> {
        let Session { mut lent, .. } = self.0;
        if !goes_on(&worked) {
            return lent.give_back(worked);
        }
        let end = if worked.is_ok() { "commit" } else { "rollback" };
        let ended = lent.run(sqlx::raw_sql(end)).await;
        lent.give_back(ended).and(worked)
    }
}

impl Deref for Tx {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.0
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut Session {
        &mut self.0
    }
}

/// What runs the statements of one transaction.
#[derive(Debug)]
pub(super) struct Session {
    lent: Lent,
    pooler: Pooler,
}

impl Session {
    async fn run<'q>(&mut self, query: impl Execute<'q, Postgres> + 'q) -> sqlx::Result<Vec<Step>> {
        self.lent.run(Statement { query, pooler: self.pooler }).await
    }
}

/// A statement that the server keeps only where it may.
struct Statement<E> {
    query: E,
    pooler: Pooler,
}

impl<'q, E: Execute<'q, Postgres>> Execute<'q, Postgres> for Statement<E> {
    fn sql(self) -> SqlStr {
        self.query.sql()
    }

    fn statement(&self) -> Option<&PgStatement> {
        self.query.statement()
    }

    fn take_arguments(&mut self) -> Result<Option<PgArguments>, BoxDynError> {
        self.query.take_arguments()
    }

    fn persistent(&self) -> bool {
        self.query.persistent() && self.pooler == Pooler::None
    }
}

/// The pieces of an answer, one by one.
fn steps<'e>(answer: impl Future<Output = sqlx::Result<Vec<Step>>> + Send + 'e) -> BoxStream<'e, sqlx::Result<Step>> {
    stream::once(answer).map_ok(|steps| stream::iter(steps.into_iter().map(Ok))).try_flatten().boxed()
}

/// The first row of an answer.
fn row(steps: Vec<Step>) -> Option<PgRow> {
    steps.into_iter().find_map(Either::right)
}

impl<'c> Executor<'c> for &'c mut Session {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, sqlx::Result<Step>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        steps(self.run(query))
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, sqlx::Result<Option<PgRow>>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        Box::pin(async move { self.run(query).await.map(row) })
    }

    fn prepare_with<'e>(self, sql: SqlStr, parameters: &'e [PgTypeInfo]) -> BoxFuture<'e, sqlx::Result<PgStatement>>
    where
        'c: 'e,
    {
        self.lent.connection().prepare_with(sql, parameters)
    }
}

impl<'c> Executor<'c> for &'c Pool {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, sqlx::Result<Step>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        steps(self.run(query))
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, sqlx::Result<Option<PgRow>>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        Box::pin(async move { self.run(query).await.map(row) })
    }

    fn prepare_with<'e>(self, sql: SqlStr, parameters: &'e [PgTypeInfo]) -> BoxFuture<'e, sqlx::Result<PgStatement>>
    where
        'c: 'e,
    {
        Box::pin(async move {
            let mut lent = self.connections.lend().await?;
            let statement = lent.connection().prepare_with(sql, parameters).await;
            lent.give_back(statement)
        })
    }
}
