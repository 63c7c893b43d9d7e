//! A connection for one statement, in a transaction of the host's own: what its attempt's end overtakes is never committed,
//! and no half-done work goes back to the pool.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{Pool, Postgres, Sqlite};

use super::database::{ACQUIRE, CONNECTIONS};
use crate::capability::Caller;
use crate::control::EndedByHost;

/// How long a commit is waited for, and with it the end of an attempt. A second more than what may happen first: SQLite
/// gives up the wait for readers, or PostgreSQL ends a transaction whose commit is lost on the way
/// (`idle_in_transaction_session_timeout`). So what is given up has not happened and never will, but for one case: the
/// server has received the commit and is not done with it, for example because a standby or the disk does not answer.
const COMMIT: Duration = Duration::from_secs(6);

/// A database that statements run on. The transactions are plain statements: sqlx's own guard hands a connection back to
/// the pool in the middle of a statement when it is dropped.
pub(super) trait Driver: sqlx::Database {
    /// Sends this one statement.
    fn send(
        connection: &mut Self::Connection,
        statement: &'static str,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;
}

impl Driver for Postgres {
    async fn send(connection: &mut Self::Connection, statement: &'static str) -> sqlx::Result<()> {
        sqlx::raw_sql(statement).execute(connection).await.map(drop)
    }
}

impl Driver for Sqlite {
    async fn send(connection: &mut Self::Connection, statement: &'static str) -> sqlx::Result<()> {
        sqlx::raw_sql(statement).execute(connection).await.map(drop)
    }
}

/// A pooled connection in a transaction. It is closed, not reused, unless the transaction came to an end: an attempt that
/// is ended while it waits must leave nothing running on the server.
pub(super) struct Lease<DB: Driver> {
    connection: PoolConnection<DB>,
    whole: bool,
}

impl<DB: Driver> Lease<DB> {
    /// Begins a transaction on a free connection, or on a new one.
    pub(super) async fn begin(pool: &Pool<DB>) -> sqlx::Result<Self> {
        let begin = async {
            for _ in 0..CONNECTIONS {
                let mut lease = Lease { connection: pool.acquire().await?, whole: false };
                // It also tells whether the server is still there, in the place of the pool's own question.
                if DB::send(&mut lease, "begin").await.is_ok() {
                    return Ok(lease);
                }
            }
            // None of those that lay idle.
            let mut lease = Lease { connection: pool.acquire().await?, whole: false };
            DB::send(&mut lease, "begin").await.map(|()| lease)
        };
        tokio::time::timeout(ACQUIRE, begin).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    /// What the statement came to, if the database did not refuse it. Then nothing of it is left, and the connection is
    /// good for the next one.
    pub(super) async fn ran<T>(mut self, outcome: sqlx::Result<T>) -> sqlx::Result<Uncommitted<DB, T>> {
        match outcome {
            Ok(answer) => Ok(Uncommitted { lease: self, answer }),
            Err(error) => {
                if let sqlx::Error::Database(_) = error {
                    self.whole = DB::send(&mut self, "rollback").await.is_ok();
                }
                Err(error)
            }
        }
    }

    async fn commit(mut self) -> sqlx::Result<()> {
        let committed = tokio::time::timeout(COMMIT, DB::send(&mut self, "commit")).await;
        let committed = committed.unwrap_or_else(|_| Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()));
        // One that failed may be open still: with its connection it is rolled back.
        self.whole = committed.is_ok();
        committed
    }
}

/// A statement that ran to its end, and its answer. Dropped, it has no effect.
pub(super) struct Uncommitted<DB: Driver, T> {
    lease: Lease<DB>,
    answer: T,
}

impl<DB: Driver, T> Uncommitted<DB, T> {
    pub(super) fn map<U>(self, made: impl FnOnce(T) -> U) -> Uncommitted<DB, U> {
        Uncommitted { lease: self.lease, answer: made(self.answer) }
    }

    /// Nothing of it is to stay.
    pub(super) async fn roll_back(mut self) -> sqlx::Result<T> {
        DB::send(&mut self.lease, "rollback").await?;
        self.lease.whole = true;
        Ok(self.answer)
    }

    /// Commits it if its attempt is alive, and answers. Once begun, a commit goes on when this future is dropped: where it
    /// would be cut off nobody knows. The attempt's end waits for it.
    pub(super) async fn commit(self, caller: &Caller) -> Result<sqlx::Result<T>, EndedByHost> {
        let effect = caller.begin_effect()?;
        let lease = self.lease;
        let committing = tokio::spawn(async move {
            let committed = lease.commit().await;
            drop(effect);
            committed
        });
        // The task is never aborted; its runtime may go, with the program.
        let committed = committing.await.unwrap_or(Err(sqlx::Error::WorkerCrashed));
        Ok(committed.map(|()| self.answer))
    }
}

impl<DB: Driver> Drop for Lease<DB> {
    fn drop(&mut self) {
        if !self.whole {
            self.connection.close_on_drop();
        }
    }
}

impl<DB: Driver> Deref for Lease<DB> {
    type Target = DB::Connection;

    fn deref(&self) -> &Self::Target {
        &self.connection
    }
}

impl<DB: Driver> DerefMut for Lease<DB> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.connection
    }
}
