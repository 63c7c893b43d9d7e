//! Moving times of rows back, on the store and on the reference.

use std::time::Duration;

use proptest::sample::Index;
use time::OffsetDateTime;
use workhost_queue::{AUDIT_KEPT, ItemId, Status, WorkItem};

use super::steps::Aged;
use super::times::now;
use super::world::{HOUR, World};

impl World {
    /// Moves one time back, for this row alone. Nothing if there is no such row.
    pub(super) async fn age(&mut self, what: Aged, which: &Index) {
        match what {
            Aged::Lease => {
                self.age_item(which, "lease_expires_at", |item| item.lease_expires_at.as_mut()).await;
            }
            Aged::RunAt => {
                if let Some(id) = self.age_item(which, "run_at", run_at).await {
                    // The item moves within the queue, which people see.
                    self.reference.items.get_mut(&id).expect("it was found there").updated_at = now();
                }
            }
            Aged::FinishedAt => {
                self.age_item(which, "finished_at", |item| item.finished_at.as_mut()).await;
            }
            Aged::HostSeen => {
                if let Some(host) = pick(which, self.reference.records.hosts.values_mut()) {
                    let by = 25 * HOUR;
                    host.last_seen_at -= by;
                    self.store.age_row("hosts", &format!("host = '{}'", host.host), "last_seen_at", by).await;
                }
            }
            Aged::Deed => {
                if let Some(deed) = pick(which, self.reference.records.deeds.iter_mut()) {
                    let by = AUDIT_KEPT + HOUR;
                    deed.at -= by;
                    self.store.age_row("audit", &format!("id = {}", deed.id), "at", by).await;
                }
            }
            Aged::TokenUse => {
                let tokens = self.reference.records.tokens.iter_mut();
                let used = tokens.filter_map(|(token, _)| Some((token.id, token.last_used_at.as_mut()?)));
                if let Some((id, at)) = pick(which, used) {
                    let by = Duration::from_secs(90);
                    *at -= by;
                    self.store.age_row("tokens", &format!("id = {}", id.0), "last_used_at", by).await;
                }
            }
        }
    }

    /// Moves a time of one of the items that have it two hours back, and answers which.
    async fn age_item(
        &mut self,
        which: &Index,
        column: &str,
        time: impl Fn(&mut WorkItem) -> Option<&mut OffsetDateTime>,
    ) -> Option<ItemId> {
        let items = self.reference.items.values_mut();
        let id = pick(which, items.filter_map(|item| time(item).is_some().then_some(item.id)))?;
        self.store.age(id, column, 2 * HOUR).await;
        for item in [self.reference.items.get_mut(&id), self.rows.get_mut(&id)].into_iter().flatten() {
            *time(item).expect("it was found by that") -= 2 * HOUR;
        }
        Some(id)
    }
}

/// When a waiting item is due.
fn run_at(item: &mut WorkItem) -> Option<&mut OffsetDateTime> {
    (item.status == Status::Queued).then_some(&mut item.run_at)
}

fn pick<T>(which: &Index, rows: impl Iterator<Item = T>) -> Option<T> {
    let mut rows: Vec<T> = rows.collect();
    (!rows.is_empty()).then(|| rows.swap_remove(which.index(rows.len())))
}
