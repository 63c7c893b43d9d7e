//! Why an item could not be done.

#[cfg(feature = "http")]
use crate::http;
use crate::sql;

/// Why an item could not be done. `?` makes one from a text and from an error of a capability.
///
/// The message is shown and logged: put no secrets and no payloads into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong, for people.
    pub message: String,
    /// Whether trying again cannot help, even where the kind has opted into retries.
    pub permanent: bool,
}

impl Failure {
    /// A failure that another attempt may not meet.
    pub fn new(message: impl Into<String>) -> Self {
        Failure { message: message.into(), permanent: false }
    }

    /// A failure that each further attempt would meet too.
    pub fn permanent(message: impl Into<String>) -> Self {
        Failure { message: message.into(), permanent: true }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Failure::new(message)
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        Failure::new(message)
    }
}

impl From<sql::Error> for Failure {
    fn from(error: sql::Error) -> Self {
        Failure { message: error.to_string(), permanent: error.is_permanent() }
    }
}

#[cfg(feature = "http")]
impl From<http::Error> for Failure {
    fn from(error: http::Error) -> Self {
        Failure { message: error.to_string(), permanent: error.is_permanent() }
    }
}
