//! Holding work back.

use serde::Serialize;
use time::OffsetDateTime;

use crate::{Limits, Result};

/// What can be paused. Attempts that run already go on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(tag = "what", rename_all = "lowercase")]
pub enum Pausable {
    /// The items of this kind are not claimed, and no schedule enqueues one.
    Kind {
        /// The work kind.
        kind: String,
    },
    /// The items of this scope are not claimed, and no schedule enqueues one.
    Scope {
        /// The scope.
        scope: String,
    },
    /// This schedule enqueues nothing. What it enqueued before is claimed, and so is what others enqueue.
    Schedule {
        /// The work kind.
        kind: String,
        /// The scope of its items, where the kind requires one.
        scope: Option<String>,
    },
}

impl Pausable {
    /// Refuses names that no item can have.
    pub(crate) fn check(&self, limits: &Limits) -> Result<()> {
        let (_, kind, scope) = self.columns();
        if !matches!(self, Pausable::Scope { .. }) {
            limits.check_kind(kind)?;
        }
        match self {
            Pausable::Kind { .. } | Pausable::Schedule { scope: None, .. } => Ok(()),
            Pausable::Scope { .. } | Pausable::Schedule { scope: Some(_), .. } => limits.check_scope(scope),
        }
    }

    /// What, kind and scope, as a store keeps them: empty where there is none, since neither is ever empty.
    pub(crate) fn columns(&self) -> (&'static str, &str, &str) {
        match self {
            Pausable::Kind { kind } => ("kind", kind, ""),
            Pausable::Scope { scope } => ("scope", "", scope),
            Pausable::Schedule { kind, scope } => ("schedule", kind, scope.as_deref().unwrap_or_default()),
        }
    }

    /// The reverse of [`Pausable::columns`]; `None` for a word that this build does not know.
    pub(crate) fn from_columns(what: &str, kind: String, scope: String) -> Option<Pausable> {
        match what {
            "kind" => Some(Pausable::Kind { kind }),
            "scope" => Some(Pausable::Scope { scope }),
            "schedule" => Some(Pausable::Schedule { kind, scope: Some(scope).filter(|scope| !scope.is_empty()) }),
            _ => None,
        }
    }
}

/// In words: `kind crawl`, `scope acme`, `schedule crawl/acme`.
impl std::fmt::Display for Pausable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (what, kind, scope) = self.columns();
        let slash = if kind.is_empty() || scope.is_empty() { "" } else { "/" };
        write!(f, "{what} {kind}{slash}{scope}")
    }
}

/// Something that is paused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Paused {
    /// What.
    #[serde(flatten)]
    pub work: Pausable,
    /// Since when.
    #[serde(with = "time::serde::rfc3339")]
    pub since: OffsetDateTime,
    /// Who paused it, if they said so.
    pub by: Option<String>,
}
