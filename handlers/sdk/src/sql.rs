//! The `sql` capability: named statements on the application's databases.
//!
//! A statement's text stands in workhost's configuration and is granted by its name; a handler sends
//! parameters and no SQL.

mod convert;
mod row;

pub use convert::FromValue;
pub use row::Row;

use crate::bindings::workhost::handler::sql::SqlError;
pub use crate::bindings::workhost::handler::sql::Value;
use crate::host;

/// Why a statement did not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No statement of this name is granted to this handler.
    #[error("{0}")]
    NotGranted(String),
    /// A parameter or column does not fit: which one, and why.
    #[error("{0}")]
    Invalid(String),
    /// The database refused the statement, for example a violated constraint.
    #[error("{0}")]
    Refused(String),
    /// The database could not be reached, or did not answer in time. Trying again may help.
    #[error("{0}")]
    Unavailable(String),
    /// The rows are more or larger than the grant allows.
    #[error("{0}")]
    TooLarge(String),
}

impl Error {
    /// Whether the same statement would meet the same error again.
    pub fn is_permanent(&self) -> bool {
        matches!(self, Error::NotGranted(_) | Error::Invalid(_) | Error::TooLarge(_))
    }
}

impl From<SqlError> for Error {
    fn from(error: SqlError) -> Self {
        match error {
            SqlError::NotGranted(reason) => Error::NotGranted(reason),
            SqlError::Invalid(reason) => Error::Invalid(reason),
            SqlError::Refused(reason) => Error::Refused(reason),
            SqlError::Unavailable(reason) => Error::Unavailable(reason),
            SqlError::TooLarge(reason) => Error::TooLarge(reason),
        }
    }
}

/// Runs a granted statement and answers how many rows it changed.
///
/// # Errors
/// Says why the statement did not run; nothing was changed then.
pub fn execute(statement: &str, params: &[Value]) -> Result<u64, Error> {
    Ok(host::execute(statement, params)?)
}

/// Runs a granted statement and answers its rows, whole.
///
/// # Errors
/// Says why the statement did not run.
pub fn query(statement: &str, params: &[Value]) -> Result<Vec<Row>, Error> {
    Ok(Row::all(host::query(statement, params)?))
}
