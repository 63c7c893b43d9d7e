//! A connection for one statement, that no half-done work goes back to the pool with.

use std::ops::{Deref, DerefMut};

use sqlx::pool::PoolConnection;
use sqlx::{Database, Pool};

/// A pooled connection that is closed, not reused, unless its statement ran to its end: an attempt that is
/// ended while it waits must leave nothing running on the server.
pub(super) struct Lease<DB: Database> {
    connection: PoolConnection<DB>,
    whole: bool,
}

impl<DB: Database> Lease<DB> {
    pub(super) async fn acquire(pool: &Pool<DB>) -> sqlx::Result<Self> {
        Ok(Lease { connection: pool.acquire().await?, whole: false })
    }

    /// The statement ran to its end, or the database refused it: the connection is good for the next one.
    pub(super) fn settle<T>(mut self, outcome: sqlx::Result<T>) -> sqlx::Result<T> {
        self.whole = matches!(outcome, Ok(_) | Err(sqlx::Error::Database(_)));
        outcome
    }
}

impl<DB: Database> Drop for Lease<DB> {
    fn drop(&mut self) {
        if !self.whole {
            self.connection.close_on_drop();
        }
    }
}

impl<DB: Database> Deref for Lease<DB> {
    type Target = DB::Connection;

    fn deref(&self) -> &Self::Target {
        &self.connection
    }
}

impl<DB: Database> DerefMut for Lease<DB> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.connection
    }
}
