//! The retention capability, carried out by the queue.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use workhost_queue::{Fence, ItemId, Queue};
use workhost_runtime::Retention;

/// The most items that one call deletes: a transaction that stays short on a busy store.
const BATCH: u32 = 1000;

/// Deletes finished items for handlers that were granted it, as long as their attempt holds its item.
pub(crate) struct QueueRetention(pub(crate) Arc<dyn Queue>);

#[async_trait]
impl Retention for QueueRetention {
    async fn delete_finished(&self, id: u64, attempt: u32, older_than_days: u32) -> Result<u64, String> {
        let id = i64::try_from(id).map_err(|_| format!("{id} is no item id"))?;
        let fence = Fence { id: ItemId(id), attempt };
        let older_than = Duration::from_secs(u64::from(older_than_days) * 24 * 60 * 60);
        match self.0.delete_finished(Some(fence), older_than, BATCH).await {
            Ok(Some(deleted)) => Ok(deleted),
            Ok(None) => Err(format!("{fence} no longer holds its item")),
            Err(error) => Err(error.to_string()),
        }
    }
}
