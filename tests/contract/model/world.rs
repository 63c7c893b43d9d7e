//! Carrying a step out, on a store and on the reference.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use time::OffsetDateTime;
use workhost_queue::{ConnectOptions, Fence, Filter, ItemId, Queue, Status, WorkItem};

use super::follower::Follower;
use super::reference::Reference;
use super::steps::{HOSTS, Pick, Spec, Step};
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
    pub(super) follower: Follower,
    /// The store's items as the step before left them.
    pub(super) rows: BTreeMap<ItemId, WorkItem>,
    steps: u64,
}

/// Hosts for one world after another: they are dear to open.
pub(super) async fn hosts(store: &TestStore) -> Vec<Arc<dyn Queue>> {
    futures::future::join_all((0..HOSTS).map(|_| host(store))).await
}

/// A host that calls one verb at a time. Each connection more costs more than a step.
async fn host(store: &TestStore) -> Arc<dyn Queue> {
    store.host_with(ConnectOptions { max_connections: 2, ..ConnectOptions::default() }).await
}

impl World {
    /// An empty store; ids go on from those of the world before. So nothing that its hosts know of that one matters.
    pub(super) async fn new(store: Arc<TestStore>, hosts: Vec<Arc<dyn Queue>>) -> World {
        for table in ["work_items", "schedules", "pauses", "audit", "tokens", "hosts"] {
            store.sql(format!("delete from {table}")).await;
        }
        World {
            follower: Follower::new(store.engine),
            store,
            hosts,
            live: vec![HashSet::new(); HOSTS],
            reference: Reference::default(),
            fences: Vec::new(),
            largest: ItemId(0),
            rows: BTreeMap::new(),
            steps: 0,
        }
    }

    pub(super) async fn step(&mut self, step: &Step) {
        let began = OffsetDateTime::now_utc();
        self.steps += 1;
        match step {
            Step::Enqueue { host, items } => self.enqueue(*host, items).await,
            Step::EnqueueDue { host, schedules } => self.enqueue_due(*host, schedules).await,
            Step::Claim { host, slots, scopes, limit } => self.claim(*host, *slots, *scopes, *limit).await,
            Step::Heartbeat { host, beats } => self.heartbeat(*host, beats).await,
            Step::Finish { host, ends } => self.finish(*host, ends).await,
            Step::Recover { host, max_stalls, limit } => self.recover(*host, *max_stalls, *limit).await,
            Step::DeleteFinished { host, fence, limit } => self.delete_finished(*host, fence.as_ref(), *limit).await,
            Step::Person { host, by, act } => self.act(*host, *by, act).await,
            Step::Seen { host, kinds, slots } => self.seen(*host, *kinds, *slots).await,
            // They change nothing.
            Step::Follow { host, limit, anew } => return self.follow(*host, *limit, *anew).await,
            Step::Look { host, look } => return self.look(*host, look).await,
            Step::Age(what, which) => self.age(*what, which).await,
            Step::Restart { host } => {
                self.hosts[*host] = self::host(&self.store).await;
                self.live[*host].clear();
            }
        }
        self.compare(began, self.steps).await;
        if matches!(step, Step::Person { .. } | Step::Seen { .. }) {
            self.compare_records(began).await;
        }
    }

    /// What must be true once a sequence is over.
    pub(super) async fn end(&mut self) {
        self.compare_records(OffsetDateTime::now_utc()).await;
        self.compare_attempts().await;
        // One more change. Once the reader is told of it, it has been told of all before.
        let mark = Spec { kind: 0, key: None, scope: None, priority: 0, delayed: true };
        self.step(&Step::Enqueue { host: 0, items: vec![mark] }).await;
        self.catch_up().await;
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
}
