//! What people did to the queue.

use std::time::Duration;

use serde::Serialize;
use time::OffsetDateTime;

use crate::{Filter, ItemId, Limits, Result};

/// Something that a person or program did, to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// Who, as they called themselves; `None` where nobody said.
    pub actor: Option<String>,
    /// One word: `cancel`, `pause`, `resume`, `reload`.
    pub action: String,
    /// To what, in words: `item 7`, `kind crawl`.
    pub target: String,
    /// The item, if it was one.
    pub item: Option<ItemId>,
}

impl Deed {
    pub(crate) fn new(actor: Option<&str>, action: &str, target: impl std::fmt::Display) -> Deed {
        Deed { actor: actor.map(str::to_owned), action: action.to_owned(), target: target.to_string(), item: None }
    }

    pub(crate) fn of_item(actor: Option<&str>, action: &str, id: ItemId) -> Deed {
        Deed { item: Some(id), ..Deed::new(actor, action, format_args!("item {id}")) }
    }

    /// Refuses what no store could hold, or should not.
    pub(crate) fn check(&self, limits: &Limits) -> Result<()> {
        limits.check_actor(self.actor.as_deref())?;
        limits.check_words("action", &self.action)?;
        limits.check_words("target", &self.target)
    }
}

/// How long what people did is remembered: 400 days, so that a year can be looked back upon.
pub const AUDIT_KEPT: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// How many outdated entries each new one removes at most.
pub(crate) const AUDIT_SWEEP: u32 = 100;

/// A deed as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditEntry {
    /// Its number; later entries have higher ones.
    pub id: i64,
    /// When.
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    /// Who, as they called themselves; `None` where nobody said.
    pub actor: Option<String>,
    /// One word.
    pub action: String,
    /// To what, in words.
    pub target: String,
    /// The item, if it was one. It may be gone by now.
    pub item: Option<ItemId>,
}

/// Which entries to read. Empty means all.
#[derive(Clone, Debug, Default)]
pub struct AuditPage {
    /// Only those of this item.
    pub item: Option<ItemId>,
    /// Only those before this one: the last id of the page before.
    pub before: Option<i64>,
    /// How many at most; 0 means 50. A list's limit holds here too.
    pub limit: u32,
}

impl AuditPage {
    pub(crate) fn size(&self, limits: &Limits) -> u32 {
        Filter { limit: self.limit, ..Filter::default() }.page(limits.list_items)
    }
}
