//! What SQLite's errors mean to a caller of the queue.

use crate::QueueError;

/// Whether another process writes just now.
pub(super) fn is_busy(error: &sqlx::Error) -> bool {
    // SQLITE_BUSY and SQLITE_LOCKED, in all their extended forms.
    primary_code(error).is_some_and(|code| matches!(code, 5 | 6))
}

/// Whether SQLite refused the statement for what it would write. Then the rest of a transaction can go on.
pub(super) fn is_refusal(error: &sqlx::Error) -> bool {
    // SQLITE_CONSTRAINT, which a trigger's `raise` gives too; SQLITE_TOOBIG.
    primary_code(error).is_some_and(|code| matches!(code, 18 | 19))
}

/// Whether a table is not there.
pub(super) fn is_undefined(error: &sqlx::Error) -> bool {
    primary_code(error) == Some(1)
        && error.as_database_error().is_some_and(|error| error.message().starts_with("no such table"))
}

fn primary_code(error: &sqlx::Error) -> Option<i32> {
    let extended: i32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(extended & 0xff)
}

/// Turns the driver's error into advice.
pub(super) fn told(error: sqlx::Error) -> QueueError {
    let words = match &error {
        sqlx::Error::PoolTimedOut => "another write did not end in time".to_owned(),
        sqlx::Error::Database(refused) => refused.message().to_owned(),
        other => other.to_string(),
    };
    let unusable = |mend: &str| QueueError::Unusable { reason: format!("{words}: {mend}") };
    match primary_code(&error) {
        // SQLITE_ERROR with these words: the schema is missing, or is another.
        Some(1) if words.starts_with("no such") => {
            unusable("its schema does not fit this build; run `workhost serve`, which migrates it")
        }
        // SQLITE_CORRUPT, SQLITE_NOTADB.
        Some(11 | 26) => unusable("mend the store's URL, or restore the file from a backup"),
        // SQLITE_PERM, SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_AUTH.
        Some(3 | 8 | 14 | 23) => unusable("this user must be able to write the file and its folder"),
        _ => QueueError::Unavailable { reason: words },
    }
}
