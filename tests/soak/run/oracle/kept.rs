//! What the store says of each item at the end.

use std::collections::BTreeMap;

use anyhow::Result;
use time::OffsetDateTime;
use workhost_queue::{AttemptRecord, Filter, ItemId, Queue, Status, WorkItem};

/// An item at the end.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) item: WorkItem,
    /// Its attempts that ended otherwise than succeeded, the newest first.
    pub(crate) attempts: Vec<AttemptRecord>,
}

/// Items by their number.
pub(super) type Items<'a> = BTreeMap<i64, &'a Kept>;

pub(super) fn by_id(kept: &[Kept]) -> Items<'_> {
    kept.iter().map(|kept| (kept.item.id.0, kept)).collect()
}

/// Reads all items of the store.
pub(crate) async fn read(queue: &dyn Queue) -> Result<Vec<Kept>> {
    let mut kept = Vec::new();
    let mut before: Option<ItemId> = None;
    loop {
        let page = queue.list(&Filter { before, limit: 500, ..Filter::default() }).await?;
        let Some(last) = page.last() else { return Ok(kept) };
        before = Some(last.id);
        for item in page {
            // The others have none, which is a constraint of the store.
            let has_some = item.attempt > 1 || (item.attempt == 1 && item.status != Status::Succeeded);
            let attempts = if has_some { queue.attempts(item.id).await? } else { Vec::new() };
            kept.push(Kept { item, attempts });
        }
    }
}

/// A store's time as the diary tells it.
pub(super) fn ms(at: OffsetDateTime) -> i64 {
    i64::try_from(at.unix_timestamp_nanos().div_euclid(1_000_000)).unwrap_or(i64::MAX)
}
