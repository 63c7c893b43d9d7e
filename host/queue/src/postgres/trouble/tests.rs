//! What is done about each of the server's errors.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use sqlx::error::{DatabaseError, ErrorKind};

use super::*;

/// An error of the server: its code and its words.
#[derive(Debug)]
struct Refused(&'static str, &'static str);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.1)
    }
}

impl std::error::Error for Refused {}

impl DatabaseError for Refused {
    fn message(&self) -> &str {
        self.1
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        Some(self.0.into())
    }

    fn as_error(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn std::error::Error + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn std::error::Error + Send + Sync + 'static> {
        self
    }

    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}

fn refused(code: &'static str, words: &'static str) -> sqlx::Error {
    sqlx::Error::Database(Box::new(Refused(code, words)))
}

/// How often a verb is begun that meets this error each time.
async fn begun(code: &'static str) -> u32 {
    let begun = Cell::new(0);
    let verb = || {
        begun.set(begun.get() + 1);
        async { Err::<(), _>(refused(code, "")) }
    };
    retrying(verb).await.unwrap_err();
    begun.get()
}

#[tokio::test]
async fn a_verb_is_begun_again_a_few_times_and_only_where_others_came_first() {
    assert_eq!(begun("40P01").await, 1 + RETRIES);
    assert_eq!(begun("23505").await, 1);
}

#[test]
fn each_error_is_a_conflict_or_not_and_speaks_of_the_row_or_not() {
    for (code, of_the_row, conflict) in [
        ("23505", true, true),
        ("40001", true, true),
        ("40P01", true, true),
        ("55P03", true, true),
        ("P0001", true, false),
        ("22003", true, false),
        ("57014", false, false),
        ("53100", false, false),
        ("42501", false, false),
        ("25006", false, false),
    ] {
        let error = refused(code, "");
        assert_eq!((is_refusal(&error), is_conflict(&error)), (of_the_row, conflict), "{code}");
        assert_eq!(is_unique_violation(&error), code == "23505", "{code}");
        assert_eq!(is_lock_timeout(&error), code == "55P03", "{code}");
        assert!(!is_undefined(&error), "{code}");
    }
    assert!(is_undefined(&refused("42P01", "")) && is_undefined(&refused("3F000", "")));
    assert!(!is_refusal(&sqlx::Error::PoolTimedOut) && !is_conflict(&sqlx::Error::PoolTimedOut));
}

#[test]
fn what_somebody_can_mend_is_told_with_the_mend() {
    for (code, words, mend) in [
        ("42883", "function x() does not exist", "workhost serve"),
        ("3D000", "database \"x\" does not exist", "create the database"),
        ("28P01", "password authentication failed", "the password in the store's URL"),
        ("42501", "permission denied", "grant the privilege"),
        ("08P01", "unsupported startup parameter: options", POOLER_HINT),
        ("08P01", "prepared statements in statement pooling mode", "pool_mode = transaction"),
    ] {
        match told(refused(code, words)) {
            QueueError::Unusable { reason } => assert!(reason.starts_with(words) && reason.contains(mend), "{reason}"),
            other => panic!("{code}: {other:?}"),
        }
    }
    for (code, words) in [("08P01", "invalid frontend message type"), ("53300", "too many clients already")] {
        let told = told(refused(code, words));
        assert!(matches!(&told, QueueError::Unavailable { reason } if reason == words), "{told:?}");
    }
}
