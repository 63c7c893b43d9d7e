//! The verbs' connections, with a pooler in front of the server or without.
//!
//! PgBouncer in transaction mode lends a server's connection for one transaction. Nothing may be kept on it: no
//! setting, no prepared statement. sqlx sends a statement in two rounds, which must meet the same connection.
//! So every statement runs unnamed there, inside an explicit transaction that brings its settings along.

use std::ops::{Deref, DerefMut};

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgPoolOptions, PgQueryResult, PgRow, PgStatement, PgTypeInfo};
use sqlx::{AssertSqlSafe, Either, Execute, Executor, PgPool, Postgres, SqlStr, Transaction};

use super::session;
use crate::{ConnectOptions, Pooler};

/// The connections that the verbs share. As an executor it runs one statement.
#[derive(Debug)]
pub(super) struct Pool {
    connections: PgPool,
    pooler: Pooler,
}

impl Pool {
    /// Connects when it is first used.
    pub(super) fn new(server: &PgConnectOptions, options: &ConnectOptions) -> Pool {
        let connections = PgPoolOptions::new()
            .max_connections(options.max_connections)
            .acquire_timeout(options.acquire_timeout)
            .connect_lazy_with(server.clone());
        Pool { connections, pooler: options.pooler }
    }

    /// A transaction.
    pub(super) async fn begin(&self) -> sqlx::Result<Tx> {
        self.begin_with("").await
    }

    /// A transaction that begins with some more statements.
    pub(super) async fn begin_with(&self, more: &str) -> sqlx::Result<Tx> {
        let begin = session::begin(self.pooler, more);
        let transaction = self.connections.begin_with(AssertSqlSafe(begin)).await?;
        Ok(Tx(Session { transaction, pooler: self.pooler }))
    }
}

/// An open transaction; rolled back when it is dropped.
pub(super) struct Tx(Session);

impl Tx {
    /// Commits what worked, or rolls back what did not, before the caller hears of it.
    ///
    /// A transaction that is only dropped is rolled back some time after: until then its rows stay locked, and the next
    /// claim, sweep or try would skip them.
    pub(super) async fn settle<T>(self, worked: sqlx::Result<T>) -> sqlx::Result<T> {
        match worked {
            Ok(_) => self.0.transaction.commit().await.and(worked),
            Err(_) => self.0.transaction.rollback().await.and(worked),
        }
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
    transaction: Transaction<'static, Postgres>,
    pooler: Pooler,
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

type Step = Either<PgQueryResult, PgRow>;

impl<'c> Executor<'c> for &'c mut Session {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, sqlx::Result<Step>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let query = Statement { query, pooler: self.pooler };
        (&mut *self.transaction).fetch_many(query)
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, sqlx::Result<Option<PgRow>>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let query = Statement { query, pooler: self.pooler };
        (&mut *self.transaction).fetch_optional(query)
    }

    fn prepare_with<'e>(self, sql: SqlStr, parameters: &'e [PgTypeInfo]) -> BoxFuture<'e, sqlx::Result<PgStatement>>
    where
        'c: 'e,
    {
        (&mut *self.transaction).prepare_with(sql, parameters)
    }
}

impl<'c> Executor<'c> for &'c Pool {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, sqlx::Result<Step>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        match self.pooler {
            Pooler::None => (&self.connections).fetch_many(query),
            Pooler::Transaction => {
                let steps = async move {
                    let mut tx = self.begin().await?;
                    let steps: sqlx::Result<Vec<Step>> = (&mut *tx).fetch_many(query).try_collect().await;
                    // Nothing is answered before it is committed.
                    let steps = tx.settle(steps).await?;
                    Ok::<_, sqlx::Error>(stream::iter(steps.into_iter().map(Ok)))
                };
                stream::once(steps).try_flatten().boxed()
            }
        }
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, sqlx::Result<Option<PgRow>>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        match self.pooler {
            Pooler::None => (&self.connections).fetch_optional(query),
            Pooler::Transaction => Box::pin(async move {
                let mut tx = self.begin().await?;
                let row = (&mut *tx).fetch_optional(query).await;
                tx.settle(row).await
            }),
        }
    }

    fn prepare_with<'e>(self, sql: SqlStr, parameters: &'e [PgTypeInfo]) -> BoxFuture<'e, sqlx::Result<PgStatement>>
    where
        'c: 'e,
    {
        (&self.connections).prepare_with(sql, parameters)
    }
}
