//! The hosts, as people see them. Nothing depends on it.

use serde::Serialize;
use time::OffsetDateTime;

use crate::{Limits, Result};

/// What a host says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostReport {
    /// Its name and boot nonce, as in its claims.
    pub host: String,
    /// The kinds that it runs.
    pub kinds: Vec<String>,
    /// How many items it runs at a time.
    pub slots: u32,
}

impl HostReport {
    pub(crate) fn check(&self, limits: &Limits) -> Result<()> {
        limits.check_host(&self.host, std::iter::empty::<&str>())?;
        self.kinds.iter().try_for_each(|kind| limits.check_kind(kind))
    }
}

/// A host, as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostSeen {
    /// Its name and boot nonce.
    pub host: String,
    /// The kinds that it ran.
    pub kinds: Vec<String>,
    /// How many items it ran at a time.
    pub slots: u32,
    /// When it first reported itself.
    #[serde(with = "time::serde::rfc3339")]
    pub first_seen_at: OffsetDateTime,
    /// When it last did.
    #[serde(with = "time::serde::rfc3339")]
    pub last_seen_at: OffsetDateTime,
}
