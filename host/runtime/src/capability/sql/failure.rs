//! What a database's errors mean to a guest.

use crate::bindings::workhost::handler::sql::SqlError;

/// The error for the guest. What only an operator may know, such as an address, goes to the log.
pub(super) fn for_guest(database: &str, statement: &str, error: &sqlx::Error) -> SqlError {
    match error {
        sqlx::Error::Database(refusal) => {
            let message = refusal.message().to_owned();
            let code = refusal.code().unwrap_or_default();
            match &*code {
                // Of a procedure, found only when it runs.
                "2D000" => SqlError::Refused(format!(
                    "{message}: each statement runs in a transaction of the host's, which alone commits"
                )),
                code if is_passing(code) => SqlError::Unavailable(message),
                _ => SqlError::Refused(message),
            }
        }
        sqlx::Error::ColumnDecode { source, .. } | sqlx::Error::Decode(source) => {
            SqlError::Invalid(format!("a column cannot be read: {source}"))
        }
        sqlx::Error::Encode(source) => SqlError::Invalid(format!("a parameter cannot be sent: {source}")),
        sqlx::Error::InvalidArgument(reason) => SqlError::Invalid(reason.clone()),
        other => {
            tracing::warn!(database, statement, reason = %other, "the database of a granted statement is unavailable");
            SqlError::Unavailable(format!("database `{database}` cannot be reached"))
        }
    }
}

/// Whether an error with this code may pass: PostgreSQL has SQLSTATEs of five characters, SQLite numbers.
fn is_passing(code: &str) -> bool {
    if code.len() == 5 {
        // Connection, resources, operator intervention (a statement over time among them), a lost race, a server that only
        // reads, a transaction that waited too long for its commit.
        return ["08", "53", "57"].contains(&&code[..2])
            || ["40001", "40P01", "55P03", "25006", "25P03"].contains(&code);
    }
    // Busy, locked, interrupted (over time), an error of the disk, no space. The low byte is the kind.
    code.parse::<i32>().is_ok_and(|code| [5, 6, 9, 10, 13].contains(&(code & 0xff)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_told_apart_from_what_will_not() {
        for code in ["57014", "08006", "53300", "40001", "25P03", "5", "517", "9", "13"] {
            assert!(is_passing(code), "{code}");
        }
        for code in ["23505", "42P01", "22003", "19", "2067", "1", ""] {
            assert!(!is_passing(code), "{code}");
        }
    }
}
