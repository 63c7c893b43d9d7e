//! What is enqueued, and what that did.

use std::time::Duration;

use serde::Serialize;

use crate::{ItemId, Json};

/// An item to enqueue.
#[derive(Clone, Debug)]
pub struct NewItem {
    /// The work kind.
    pub kind: String,
    /// The payload.
    pub payload: Json,
    /// Coalesces with the queued item of this kind that has the same key.
    pub dedup_key: Option<String>,
    /// The serial key.
    pub scope: Option<String>,
    /// Not before this long from now.
    pub delay: Duration,
    /// Higher runs first.
    pub priority: i32,
}

impl NewItem {
    /// An item of this kind, due now, without key, scope or priority.
    pub fn new(kind: impl Into<String>, payload: Json) -> Self {
        NewItem { kind: kind.into(), payload, dedup_key: None, scope: None, delay: Duration::ZERO, priority: 0 }
    }
}

/// What enqueueing an item did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", content = "id", rename_all = "lowercase")]
pub enum Enqueued {
    /// A new item.
    Created(ItemId),
    /// The queued item with the same kind and dedup key; it is unchanged.
    Existing(ItemId),
}

impl Enqueued {
    /// The item's id, new or not.
    pub fn id(self) -> ItemId {
        match self {
            Enqueued::Created(id) | Enqueued::Existing(id) => id,
        }
    }

    /// The item's id, if it is new.
    pub fn created(self) -> Option<ItemId> {
        match self {
            Enqueued::Created(id) => Some(id),
            Enqueued::Existing(_) => None,
        }
    }
}
