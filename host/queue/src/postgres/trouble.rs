//! What PostgreSQL's errors mean to a caller of the queue.

use std::time::Duration;

use sqlx::postgres::PgDatabaseError;

use crate::{QueueError, Result};

/// What to do where PgBouncer stands between and this host was not told.
pub(super) const POOLER_HINT: &str = "set pooler = \"transaction\" under [store]";

/// What `workhost.enqueue` refuses by name.
const FIELDS: [&str; 7] = ["items", "kind", "payload", "dedup_key", "scope", "run_at", "priority"];

/// How often a verb that the server ended for the sake of others is begun again.
const RETRIES: u32 = 4;

/// Runs a verb, and again when the server ended it for the sake of others (a deadlock, a
/// serialization failure): nothing of it was kept then. Waits a random time in between, so that
/// the same two do not meet again.
pub(super) async fn retrying<T, F>(verb: impl Fn() -> F) -> Result<T>
where
    F: Future<Output = sqlx::Result<T>>,
{
    let mut tries = 0;
    loop {
        match verb().await {
            Err(error) if is(&error, &["40001", "40P01"]) && tries < RETRIES => {
                tries += 1;
                let wait = rand::random_range(5_u64..20 << tries);
                tokio::time::sleep(Duration::from_millis(wait)).await;
            }
            answer => return answer.map_err(told),
        }
    }
}

/// Whether another transaction is in the way of this statement: it took the place in a unique index, it
/// holds a lock too long, or both waited for each other.
pub(super) fn is_conflict(error: &sqlx::Error) -> bool {
    is(error, &["23505", "40001", "40P01", "55P03"])
}

/// Whether the server answered, refusing the statement. Then the rows of a batch can be tried one by one.
pub(super) fn is_refusal(error: &sqlx::Error) -> bool {
    // 57…: cancelled by a timeout, or the server is going down; 53…: it is out of something; 25006: read only.
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| {
        !code.starts_with("57") && !code.starts_with("53") && !code.starts_with("42") && code != "25006"
    })
}

/// Whether another row has the place in a unique index.
pub(super) fn is_unique_violation(error: &sqlx::Error) -> bool {
    is(error, &["23505"])
}

/// Whether somebody else held a lock for longer than this session waits.
pub(super) fn is_lock_timeout(error: &sqlx::Error) -> bool {
    is(error, &["55P03"])
}

/// Whether the schema or the table is not there.
pub(super) fn is_undefined(error: &sqlx::Error) -> bool {
    is(error, &["3F000", "42P01"])
}

fn is(error: &sqlx::Error, codes: &[&str]) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| codes.contains(&&*code))
}

/// Turns the driver's error into advice. Neither the driver nor the server repeats passwords in its words.
pub(super) fn told(error: sqlx::Error) -> QueueError {
    let Some(refused) = error.as_database_error() else {
        return QueueError::Unavailable {
            reason: match error {
                sqlx::Error::PoolTimedOut => "no connection came free in time".to_owned(),
                other => other.to_string(),
            },
        };
    };
    let words = refused.message().to_owned();
    let unusable = |mend: &str| QueueError::Unusable { reason: format!("{words}: {mend}") };
    match refused.code().as_deref() {
        // Undefined schema, table, column, function.
        Some("3F000" | "42P01" | "42703" | "42883") => {
            unusable("its schema does not fit this build; run `workhost serve`, which migrates it")
        }
        // A function of ours refused an argument. The limits in the database may be lower than this host's.
        Some("22023") if let Some(refused) = invalid(&error) => refused,
        Some("3D000") => unusable("create the database"),
        Some("28000" | "28P01") => unusable("mend the user or the password in the store's URL"),
        // PgBouncer's own words.
        Some("08P01") if words.contains("startup parameter") => unusable(POOLER_HINT),
        Some("08P01") if words.contains("statement pooling mode") => {
            unusable("the queue needs transactions; set pool_mode = transaction in PgBouncer's configuration")
        }
        Some("42501") => unusable("grant the privilege to the user of the store's URL"),
        _ => QueueError::Unavailable { reason: words },
    }
}

/// The refusal of `workhost.enqueue`, which names the field at fault.
fn invalid(error: &sqlx::Error) -> Option<QueueError> {
    let refused = error.as_database_error()?.try_downcast_ref::<PgDatabaseError>()?;
    let field = FIELDS.into_iter().find(|field| refused.column() == Some(field))?;
    let reason = refused.message().strip_prefix(field)?.strip_prefix(": ")?;
    Some(QueueError::Invalid { field, reason: reason.to_owned() })
}

#[cfg(test)]
mod tests;
