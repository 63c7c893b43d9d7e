//! `retention`: deletion of finished work items, in bounded batches.

use std::sync::Arc;

use wasmtime::component::HasSelf;

use super::queue::{WorkQueue, WorkQueueError};
use super::{Caller, Capability, GrantForm};
use crate::bindings::workhost::handler::retention;
use crate::sandbox::State;

pub(crate) const CAPABILITY: Capability = Capability {
    form: GrantForm { key: "retention", toml: "  [handlers.retention]\n  min_days = 30\n" },
    interfaces: &["workhost:handler/retention"],
    inert: false,
    is_granted: |grants| grants.retention.is_some(),
    link: |linker, _| {
        retention::add_to_linker::<State, HasSelf<RetentionContext>>(linker, |state| &mut state.contexts.retention)
    },
};

/// The right to delete finished work items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionGrant {
    /// Items that finished fewer days ago than this are never deleted.
    pub min_days: u32,
}

/// A grant and the queue that it is for.
#[derive(Clone)]
pub(crate) struct Granted {
    pub(crate) grant: RetentionGrant,
    pub(crate) backend: Arc<dyn WorkQueue>,
}

/// What the attempt's calls of `retention` reach.
pub(crate) struct RetentionContext {
    caller: Arc<Caller>,
    granted: Option<Granted>,
}

impl RetentionContext {
    pub(crate) fn new(caller: Arc<Caller>, granted: Option<Granted>) -> Self {
        RetentionContext { caller, granted }
    }
}

impl retention::Host for RetentionContext {
    async fn delete_finished(&mut self, older_than_days: u32) -> wasmtime::Result<Result<u64, String>> {
        self.caller.alive()?;
        let Some(Granted { grant: RetentionGrant { min_days }, backend }) = &self.granted else {
            return Ok(Err("retention is not granted here".into()));
        };
        if older_than_days < *min_days {
            return Ok(Err(format!("{older_than_days} days are fewer than the {min_days} that the grant allows")));
        }
        match backend.delete_finished(self.caller.id, self.caller.attempt, older_than_days).await {
            Ok(deleted) => Ok(Ok(deleted)),
            Err(WorkQueueError::Lost) => Err(self.caller.lost().into()),
            Err(WorkQueueError::Invalid(reason) | WorkQueueError::Unavailable(reason)) => Ok(Err(reason)),
        }
    }
}

#[cfg(test)]
mod tests;
