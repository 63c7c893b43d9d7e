//! What a caller of the queue can be told.

/// The queue's result type.
pub type Result<T> = std::result::Result<T, QueueError>;

/// Why a verb was not carried out. Each variant is advice to the caller; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The store could not be reached or did not answer in time. Try again.
    #[error("the store is unavailable: {reason}")]
    Unavailable {
        /// What the driver said, without secrets.
        reason: String,
    },
    /// An argument cannot be stored. Trying again cannot help.
    #[error("{field}: {reason}")]
    Invalid {
        /// The argument at fault.
        field: &'static str,
        /// What is wrong with it, and what would be right.
        reason: String,
    },
    /// The store cannot be used by this build: its schema or its server does not fit. A person must act.
    #[error("the store cannot be used: {reason}")]
    Unusable {
        /// What does not fit, and the mend.
        reason: String,
    },
    /// Another process holds what this one needs.
    #[error("{what} is held by {holder}")]
    Held {
        /// The thing that is held.
        what: String,
        /// Who holds it, as far as known.
        holder: String,
    },
}
