//! Carrying a step out, on a store and on the reference, and comparing the two.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use proptest::sample::Index;
use time::OffsetDateTime;
use workhost_queue::{Fence, Filter, ItemId, Queue, Status, WorkItem};

use super::ending::STALLED;
use super::invariants;
use super::reference::Reference;
use super::steps::{HOSTS, Pick, Step};
use super::times::settle;
use crate::store::TestStore;

pub(super) const HOUR: Duration = Duration::from_secs(3600);

/// A store, its hosts, and what is expected of them.
pub(super) struct World {
    pub(super) store: Arc<TestStore>,
    pub(super) hosts: Vec<Arc<dyn Queue>>,
    /// The attempts that a host knows to be its own, where the store lets it never recover them.
    pub(super) live: Vec<HashSet<Fence>>,
    pub(super) reference: Reference,
    pub(super) fences: Vec<Fence>,
    pub(super) largest: ItemId,
    rows: BTreeMap<ItemId, WorkItem>,
}

impl World {
    /// An empty store; ids go on from those of the world before.
    pub(super) async fn new(store: Arc<TestStore>) -> World {
        store.sql("delete from work_items; delete from schedules").await;
        let mut hosts = Vec::new();
        for _ in 0..HOSTS {
            hosts.push(store.host().await);
        }
        let live = vec![HashSet::new(); HOSTS];
        let (fences, rows) = (Vec::new(), BTreeMap::new());
        World { store, hosts, live, reference: Reference::default(), fences, largest: ItemId(0), rows }
    }

    pub(super) async fn step(&mut self, step: &Step) {
        let began = OffsetDateTime::now_utc();
        match step {
            Step::Enqueue { host, items } => self.enqueue(*host, items).await,
            Step::EnqueueDue { host, kinds } => self.enqueue_due(*host, kinds).await,
            Step::Claim { host, slots, scopes, limit } => self.claim(*host, *slots, *scopes, *limit).await,
            Step::Heartbeat { host, beats } => self.heartbeat(*host, beats).await,
            Step::Finish { host, ends } => self.finish(*host, ends).await,
            Step::Recover { host, max_stalls, limit } => self.recover(*host, *max_stalls, *limit).await,
            Step::Cancel { host, item } => {
                let known =
                    self.reference.items.keys().copied().chain([ItemId(self.largest.0 + 1)]).collect::<Vec<_>>();
                let id = *item.get(&known);
                assert_eq!(self.hosts[*host].cancel(id).await.unwrap(), self.reference.cancel(id));
            }
            Step::DeleteFinished { host, fence, limit } => {
                let fence = fence.as_ref().and_then(|pick| self.fence(pick));
                let deleted = self.hosts[*host].delete_finished(fence, HOUR, *limit).await.unwrap();
                assert_eq!(deleted, self.reference.delete_finished(fence, HOUR, *limit));
            }
            Step::Expire(index) => self.age(index, Status::Running, "lease_expires_at").await,
            Step::BecomeDue(index) => self.age(index, Status::Queued, "run_at").await,
            Step::GrowOld(index) => {
                let finished = [Status::Succeeded, Status::Failed, Status::Cancelled];
                self.age(index, finished[index.index(finished.len())], "finished_at").await;
            }
            Step::Restart { host } => {
                self.hosts[*host] = self.store.host().await;
                self.live[*host].clear();
            }
        }
        self.compare(began).await;
    }

    /// Moves a time back, as if two hours had passed for this row alone.
    async fn age(&mut self, index: &Index, status: Status, column: &str) {
        let ids = self.reference.of_status(status);
        if ids.is_empty() {
            return;
        }
        let id = *index.get(&ids);
        self.store.age(id, column, 2 * HOUR).await;
        for item in [self.reference.items.get_mut(&id), self.rows.get_mut(&id)].into_iter().flatten() {
            let time = match column {
                "run_at" => &mut item.run_at,
                "finished_at" => item.finished_at.as_mut().unwrap(),
                _ => item.lease_expires_at.as_mut().unwrap(),
            };
            *time -= 2 * HOUR;
        }
    }

    /// The attempts that are picked, each once, with the place of its pick. None while there are none.
    pub(super) fn fences_of<'a>(&self, picks: impl Iterator<Item = &'a Pick>) -> Vec<(usize, Fence)> {
        let mut seen = HashSet::new();
        let fences = picks.enumerate().filter_map(|(at, pick)| Some((at, self.fence(pick)?)));
        fences.filter(|(_, fence)| seen.insert(*fence)).collect()
    }

    pub(super) fn fence(&self, pick: &Pick) -> Option<Fence> {
        let later = u32::from(matches!(pick, Pick::ToCome(_)));
        match pick {
            Pick::Holder(index) => {
                let ids = self.reference.of_status(Status::Running);
                let id = (!ids.is_empty()).then(|| *index.get(&ids))?;
                Some(Fence { id, attempt: self.reference.items[&id].attempt })
            }
            Pick::Ever(index) | Pick::ToCome(index) => {
                let fence = (!self.fences.is_empty()).then(|| *index.get(&self.fences))?;
                Some(Fence { attempt: fence.attempt + later, ..fence })
            }
        }
    }

    pub(super) async fn read(&self) -> BTreeMap<ItemId, WorkItem> {
        let rows = self.store.queue.list(&Filter { limit: 500, ..Filter::default() }).await.unwrap();
        assert!(rows.len() < 500, "one page holds all");
        rows.into_iter().map(|row| (row.id, row)).collect()
    }

    async fn compare(&mut self, began: OffsetDateTime) {
        let rows = self.read().await;
        for (id, expected) in &mut self.reference.items {
            let row = rows.get(id).unwrap_or_else(|| panic!("item {id} is gone"));
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
        invariants::hold(&self.rows, &rows);
        self.rows = rows;
    }
}
