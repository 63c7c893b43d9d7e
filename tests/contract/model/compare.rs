//! Comparing what a store holds with what the reference holds.

use time::OffsetDateTime;
use workhost_queue::{ItemId, WorkItem};

use super::ending::STALLED;
use super::invariants;
use super::times::{now, settle};
use super::world::World;

impl World {
    /// Every item is what the reference says, and so is what is kept of the attempts of those that changed.
    pub(super) async fn compare(&mut self, began: OffsetDateTime, step: u64) {
        let rows = self.read().await;
        let mut changed = Vec::new();
        for (id, expected) in &mut self.reference.items {
            let row = rows.get(id).unwrap_or_else(|| panic!("item {id} is gone"));
            if expected.updated_at == now() {
                changed.push(*id);
            }
            settle(expected, row, began);
            if expected.error.as_deref() == Some(STALLED)
                && row.error.as_ref().is_some_and(|e| e.contains(" stalled: "))
            {
                expected.error.clone_from(&row.error);
            }
            let value = |item: &WorkItem| serde_json::to_value(item).unwrap();
            assert_eq!(value(row), value(expected), "the store's item, and what is expected");
        }
        assert_eq!(rows.len(), self.reference.items.len(), "there are items that nobody expects");
        invariants::hold(&self.store, &self.rows, &rows).await;
        for id in changed {
            self.follower.changed(id, step);
            self.compare_attempts_of(id).await;
        }
        for id in self.rows.keys().filter(|id| !rows.contains_key(id)) {
            self.follower.gone(*id);
        }
        self.rows = rows;
    }

    async fn compare_attempts_of(&mut self, id: ItemId) {
        let expected = self.reference.attempts.entry(id).or_default();
        for record in expected.iter_mut().filter(|record| record.ended_at == now()) {
            // Its end is what changed the item.
            record.ended_at = self.reference.items[&id].updated_at;
        }
        assert_eq!(self.store.queue.attempts(id).await.unwrap(), *expected, "the attempts of item {id}");
    }

    /// What is kept of attempts is what the reference keeps, of every item, and nothing is kept of items that are gone.
    pub(super) async fn compare_attempts(&mut self) {
        let ids: Vec<ItemId> = self.reference.items.keys().copied().collect();
        for id in ids {
            self.compare_attempts_of(id).await;
        }
        let kept: usize = self.reference.attempts.values().map(Vec::len).sum();
        assert_eq!(self.store.number("select count(*) from attempts").await, i64::try_from(kept).unwrap());
    }
}
