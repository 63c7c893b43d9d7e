//! What a handler may do.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use crate::capability::config::ConfigGrant;
use crate::capability::dirs::DirGrant;
use crate::capability::http::{HttpGrant, Resolve, SystemResolver};
use crate::capability::queue::{Enqueued, NewItem, QueueGrant, WorkQueue, WorkQueueError};
use crate::capability::retention::RetentionGrant;
use crate::capability::secrets::SecretSource;
use crate::capability::sql::{Database, SqlGrant};

/// The capabilities of one handler. Nothing is granted by default.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// Statements that it may run, by the name that it knows them by.
    pub sql: BTreeMap<String, SqlGrant>,
    /// The right to enqueue more work.
    pub queue: Option<QueueGrant>,
    /// The right to delete finished work items.
    pub retention: Option<RetentionGrant>,
    /// Folders that it sees.
    pub dirs: Vec<DirGrant>,
    /// Origins that it may send requests to.
    pub http: Option<HttpGrant>,
    /// Its settings, JSON values by key.
    pub config: ConfigGrant,
    /// Where each of its secrets comes from, by the name that it knows it by.
    pub secrets: BTreeMap<String, SecretSource>,
    /// Bytes of memory per attempt, instead of [`Limits::memory_bytes`](crate::Limits::memory_bytes).
    pub memory_bytes: Option<usize>,
}

/// What grants reach on the host's side. By default no database, a queue that refuses, and the
/// machine's own names: enough to check components.
#[derive(Clone)]
pub struct Backends {
    /// The application's databases, by the name that statements are granted with.
    pub databases: BTreeMap<String, Database>,
    /// The queue that the items come from.
    pub queue: Arc<dyn WorkQueue>,
    /// What looks up the names that requests go to.
    pub resolver: Arc<dyn Resolve>,
}

impl Default for Backends {
    fn default() -> Self {
        Backends { databases: BTreeMap::new(), queue: Arc::new(NoQueue), resolver: Arc::new(SystemResolver) }
    }
}

/// No queue at all.
struct NoQueue;

impl NoQueue {
    fn refuse<T>() -> Result<T, WorkQueueError> {
        Err(WorkQueueError::Unavailable("there is no queue here".into()))
    }
}

#[async_trait]
impl WorkQueue for NoQueue {
    async fn enqueue(&self, _: u64, _: u32, _: Vec<NewItem>) -> Result<Vec<Enqueued>, WorkQueueError> {
        NoQueue::refuse()
    }

    async fn delete_finished(&self, _: u64, _: u32, _: u32) -> Result<u64, WorkQueueError> {
        NoQueue::refuse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn where_there_is_no_queue_nothing_is_said_to_be_done() {
        let queue = Backends::default().queue;
        assert!(matches!(queue.enqueue(1, 1, Vec::new()).await, Err(WorkQueueError::Unavailable(_))));
        assert!(matches!(queue.delete_finished(1, 1, 1).await, Err(WorkQueueError::Unavailable(_))));
    }
}
