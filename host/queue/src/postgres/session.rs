//! Connections: how they are opened, what holds on each of them, and how long they wait.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions as _, PgPool, Postgres, Transaction};

use super::trouble::told;
use crate::{ConnectOptions, QueueError, Result};

/// The oldest server that workhost works with; every statement is written for it.
const OLDEST_SERVER: i32 = 15;

/// How long a statement waits for a row that somebody else has locked, unless it is patient. Short,
/// since heartbeats and finishes of other items wait behind it.
const LOCK_TIMEOUT: &str = "250ms";

/// How the server is reached, and what holds on each connection.
pub(super) fn server(url: &str, options: &ConnectOptions) -> Result<PgConnectOptions> {
    let server: PgConnectOptions = url.parse().map_err(|_| QueueError::Invalid {
        field: "url",
        // What the parser says could repeat a part of the URL, and so of a password.
        reason: "expected postgres://user:password@host:port/database?options, special characters percent-encoded"
            .to_owned(),
    })?;
    let server = match server.get_application_name() {
        Some(_) => server,
        None => server.application_name(&options.application_name),
    };
    Ok(server.disable_statement_logging().options([
        // The statements rely on seeing what was committed before each of them.
        ("default_transaction_isolation", "read committed"),
        ("lock_timeout", LOCK_TIMEOUT),
        // A verb that takes longer is in trouble, and its caller must hear so.
        ("statement_timeout", "30s"),
        ("idle_in_transaction_session_timeout", "60s"),
        // The statements are short; compiling one would take longer than running it.
        ("jit", "off"),
        // Each statement has its index. A plan made while the table was small would keep reading all of it.
        ("enable_seqscan", "off"),
    ]))
}

/// The pool that the verbs share. It connects when it is first used.
pub(super) fn pool(server: &PgConnectOptions, options: &ConnectOptions) -> PgPool {
    PgPoolOptions::new()
        .max_connections(options.max_connections)
        .acquire_timeout(options.acquire_timeout)
        .connect_lazy_with(server.clone())
}

/// A transaction that waits up to ten seconds for others' locks: for verbs whose caller would rather
/// wait than be told to try again.
pub(super) async fn patient(pool: &PgPool) -> sqlx::Result<Transaction<'static, Postgres>> {
    pool.begin_with("begin; set local lock_timeout = '10s'").await
}

/// Refuses servers that the statements are not written for.
pub(super) async fn check_server(pool: &PgPool) -> Result<()> {
    let (version, encoding): (i32, String) =
        sqlx::query_as("select current_setting('server_version_num')::integer, current_setting('server_encoding')")
            .fetch_one(pool)
            .await
            .map_err(told)?;
    check_version(version)?;
    if encoding != "UTF8" {
        return Err(QueueError::Unusable {
            reason: format!("the database has the encoding {encoding}: create one with encoding UTF8"),
        });
    }
    Ok(())
}

fn check_version(version: i32) -> Result<()> {
    let major = version / 10_000;
    if major < OLDEST_SERVER {
        return Err(QueueError::Unusable {
            reason: format!("the server is PostgreSQL {major}: workhost needs {OLDEST_SERVER} or newer"),
        });
    }
    Ok(())
}

/// How much time is left until `deadline`; none once it has passed.
pub(super) fn left(deadline: tokio::time::Instant) -> Option<Duration> {
    deadline.checked_duration_since(tokio::time::Instant::now()).filter(|left| !left.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_server_is_refused_by_name() {
        assert!(check_version(150_018).is_ok());
        let error = check_version(140_022).unwrap_err().to_string();
        assert!(error.contains("PostgreSQL 14: workhost needs 15"), "{error}");
    }

    #[test]
    fn a_url_that_cannot_be_read_is_not_repeated() {
        let error = server("postgres://u:s3cret@h:notaport/db", &ConnectOptions::default()).unwrap_err();
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
}
