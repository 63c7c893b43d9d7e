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

#[cfg(test)]
mod tests {
    use sqlx::Connection as _;
    use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};

    use super::*;

    /// What SQLite says to a statement in an empty database.
    async fn refused(statement: &'static str) -> sqlx::Error {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        sqlx::raw_sql(statement).execute(&mut connection).await.unwrap_err()
    }

    fn is_unusable(error: sqlx::Error, mend: &str) -> bool {
        matches!(told(error), QueueError::Unusable { reason } if reason.contains(mend))
    }

    #[tokio::test]
    async fn only_a_missing_table_is_undefined() {
        assert!(is_undefined(&refused("select 1 from missing").await));
        for other in ["select missing", "select 1 from", "create table t (a not null); insert into t values (null)"] {
            assert!(!is_undefined(&refused(other).await), "{other}");
        }
        assert!(!is_undefined(&sqlx::Error::PoolTimedOut));
    }

    #[tokio::test]
    async fn only_what_a_row_is_to_hold_is_refused_for_its_sake() {
        assert!(is_refusal(&refused("create table t (a not null); insert into t values (null)").await));
        let mismatch = refused("create table t (a integer primary key); insert into t values ('x')").await;
        assert!(!is_refusal(&mismatch) && !is_busy(&mismatch), "{mismatch}");
    }

    #[tokio::test]
    async fn a_schema_that_does_not_fit_is_told_from_a_statement_that_does_not() {
        for missing in ["select 1 from missing", "select missing"] {
            assert!(is_unusable(refused(missing).await, "workhost serve"), "{missing}");
        }
        assert!(matches!(told(refused("select 1 from").await), QueueError::Unavailable { .. }));
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_opened_is_unusable() {
        let nowhere = SqliteConnectOptions::new().filename("/nowhere/at-all.db");
        let error = SqliteConnection::connect_with(&nowhere).await.unwrap_err();
        assert!(is_unusable(error, "must be able to write the file"));
    }
}
