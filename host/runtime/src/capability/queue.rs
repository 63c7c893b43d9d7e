//! `queue`: more work, enqueued by a running attempt as its children.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use wasmtime::component::HasSelf;

use super::{Caller, Capability, GrantForm};
use crate::bindings::workhost::handler::queue::{self, EnqueueError, Enqueued as WitEnqueued, NewItem as WitNewItem};
use crate::limits::Limits;
use crate::sandbox::State;
use crate::text;

pub(crate) const CAPABILITY: Capability = Capability {
    form: GrantForm {
        key: "queue",
        toml: "  [handlers.queue]\n  kinds = [\"…\"]                   # that it may enqueue\n",
    },
    interfaces: &["workhost:handler/queue"],
    inert: false,
    is_granted: |grants| grants.queue.is_some(),
    link: |linker, _| queue::add_to_linker::<State, HasSelf<QueueContext>>(linker, |state| &mut state.contexts.queue),
};

/// The right to enqueue items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueGrant {
    /// Of these kinds, and no others.
    pub kinds: BTreeSet<String>,
}

/// The queue that an attempt's item came from: the other side of capabilities that write it.
///
/// `id` and `attempt` fence each call: [`Lost`](WorkQueueError::Lost) says that the attempt does not hold its item any more,
/// and nothing was changed.
#[async_trait]
pub trait WorkQueue: Send + Sync {
    /// Enqueues items, all or none, as children of the attempt's item, and answers each in order.
    async fn enqueue(&self, id: u64, attempt: u32, items: Vec<NewItem>) -> Result<Vec<Enqueued>, WorkQueueError>;

    /// Deletes one bounded batch of items that finished more than so many days ago, and answers how many.
    async fn delete_finished(&self, id: u64, attempt: u32, older_than_days: u32) -> Result<u64, WorkQueueError>;
}

/// An item that a handler enqueues.
#[derive(Clone, Debug, PartialEq)]
pub struct NewItem {
    /// Its kind, which the grant lists.
    pub kind: String,
    /// Its payload, as the handler wrote it: it may be no JSON.
    pub payload: String,
    /// What it coalesces by.
    pub dedup_key: Option<String>,
    /// Its serial key.
    pub scope: Option<String>,
    /// How long from now it is due.
    pub delay: Duration,
    /// Higher runs first.
    pub priority: i32,
}

/// What enqueueing an item did, with its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// A new item.
    Created(u64),
    /// The queued one with the same kind and dedup key.
    Existing(u64),
}

/// Why the queue was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkQueueError {
    /// The attempt does not hold its item any more.
    Lost,
    /// It cannot be: text for the handler's author.
    Invalid(String),
    /// The store did not answer.
    Unavailable(String),
}

/// A grant and the queue that it is for.
#[derive(Clone)]
pub(crate) struct Granted {
    pub(crate) grant: QueueGrant,
    pub(crate) backend: Arc<dyn WorkQueue>,
}

/// What the attempt's calls of `queue` reach.
pub(crate) struct QueueContext {
    caller: Arc<Caller>,
    granted: Option<Granted>,
    most: usize,
}

impl QueueContext {
    pub(crate) fn new(caller: Arc<Caller>, granted: Option<Granted>, limits: &Limits) -> Self {
        QueueContext { caller, granted, most: limits.queue_items }
    }
}

impl queue::Host for QueueContext {
    async fn enqueue(&mut self, items: Vec<WitNewItem>) -> wasmtime::Result<Result<Vec<WitEnqueued>, EnqueueError>> {
        self.caller.alive()?;
        let Some(Granted { grant, backend }) = &self.granted else {
            return Ok(Err(EnqueueError::NotGranted("`queue` is not granted here".into())));
        };
        if items.len() > self.most {
            let (given, most) = (items.len(), self.most);
            return Ok(Err(EnqueueError::Invalid(format!("{given} items at once; the limit is {most}"))));
        }
        if let Some(item) = items.iter().find(|item| !grant.kinds.contains(&item.kind)) {
            let kind = text::harmless_line(&item.kind, 128);
            return Ok(Err(EnqueueError::NotGranted(format!(
                "kind `{kind}` is none that this handler may enqueue: add it to `kinds` of [handlers.queue]"
            ))));
        }
        let items = items.into_iter().map(NewItem::from).collect();
        Ok(match backend.enqueue(self.caller.id, self.caller.attempt, items).await {
            Ok(answers) => Ok(answers.into_iter().map(WitEnqueued::from).collect()),
            Err(WorkQueueError::Lost) => return Err(self.caller.lost().into()),
            Err(WorkQueueError::Invalid(reason)) => Err(EnqueueError::Invalid(reason)),
            Err(WorkQueueError::Unavailable(reason)) => Err(EnqueueError::Unavailable(reason)),
        })
    }
}

impl From<WitNewItem> for NewItem {
    fn from(item: WitNewItem) -> Self {
        let WitNewItem { kind, payload, dedup_key, scope, delay_seconds, priority } = item;
        NewItem { kind, payload, dedup_key, scope, delay: Duration::from_secs(delay_seconds.into()), priority }
    }
}

impl From<Enqueued> for WitEnqueued {
    fn from(answer: Enqueued) -> Self {
        match answer {
            Enqueued::Created(id) => WitEnqueued::Created(id),
            Enqueued::Existing(id) => WitEnqueued::Existing(id),
        }
    }
}

#[cfg(test)]
mod tests;
