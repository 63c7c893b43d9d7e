//! Connections: how they are opened, what holds on each of them, and how long they wait.

use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;

use super::pool::{Pool, Tx};
use super::trouble::{POOLER_HINT, told};
use crate::{ConnectOptions, Pooler, QueueError, Result};

/// The oldest server that workhost works with; every statement is written for it. It stands in a file of its own, since
/// the project's commands look for such a server too.
const OLDEST_SERVER: i32 =
    match i32::from_str_radix(include_str!("../../../../migrations/postgres/oldest-server").trim_ascii_end(), 10) {
        Ok(major) => major,
        Err(_) => panic!("migrations/postgres/oldest-server holds no number"),
    };

/// How long a statement waits for a row that somebody else has locked, unless it is patient. Short,
/// since heartbeats and finishes of other items wait behind it.
const LOCK_TIMEOUT: &str = "250ms";

/// What holds on each connection, or in each transaction where a pooler keeps no settings.
const SETTINGS: [(&str, &str); 6] = [
    ("lock_timeout", LOCK_TIMEOUT),
    // A verb that takes longer is in trouble, and its caller must hear so.
    ("statement_timeout", "30s"),
    ("idle_in_transaction_session_timeout", "60s"),
    // The statements are short: compiling one, or starting workers for it, would take longer than running it. A plan
    // thinks otherwise where many rows have one value, as the changes of a store that was loaded from a copy.
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    // Each statement has its index. A plan made while the table was small would keep reading all of it.
    ("enable_seqscan", "off"),
];

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
    let server = server.disable_statement_logging();
    Ok(match options.pooler {
        // The statements rely on seeing what was committed before each of them.
        Pooler::None => server.options(SETTINGS).options([("default_transaction_isolation", "read committed")]),
        // PgBouncer refuses start-up parameters that it does not track.
        Pooler::Transaction => server.extra_float_digits(None),
    })
}

/// The text that begins a transaction with its settings, and with more statements.
pub(super) fn begin(pooler: Pooler, more: &str) -> String {
    let mut begin = "begin isolation level read committed".to_owned();
    if pooler == Pooler::Transaction {
        for (name, value) in SETTINGS {
            begin.push_str(&format!("; set local {name} = '{value}'"));
        }
    }
    if !more.is_empty() {
        begin.push_str("; ");
        begin.push_str(more);
    }
    begin
}

/// A transaction that waits up to ten seconds for others' locks: for verbs whose caller would rather
/// wait than be told to try again.
pub(super) async fn patient(pool: &Pool) -> sqlx::Result<Tx> {
    pool.begin_with("set local lock_timeout = '10s'").await
}

/// Refuses servers that the statements are not written for, and poolers in front of them that this was not told of.
pub(super) async fn check_server(pool: &Pool) -> Result<()> {
    let (version, encoding, lock_timeout): (i32, String, String) = sqlx::query_as(
        "select current_setting('server_version_num')::integer, current_setting('server_encoding'),
            current_setting('lock_timeout')",
    )
    .fetch_one(pool)
    .await
    .map_err(told)?;
    check_version(version)?;
    if encoding != "UTF8" {
        return Err(QueueError::Unusable {
            reason: format!("the database has the encoding {encoding}: create one with encoding UTF8"),
        });
    }
    if lock_timeout != LOCK_TIMEOUT {
        return Err(QueueError::Unusable {
            reason: format!("a pooler in front of the server drops this host's settings: {POOLER_HINT}"),
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
