//! The queue as it should be: a map of items, and what each verb makes of it. Only what one host after the other does
//! is told here; races have tests of their own.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use time::OffsetDateTime;
use workhost_queue::{
    AttemptRecord, Beat, CancelAnswer, ClaimRequest, Enqueued, Fence, ItemId, NewItem, Pausable, Periodic, Pulse,
    Schedule, Status, WorkItem,
};

use super::queued::{queued, scheduled};
use super::records::Records;
use super::times::{after, now};
use crate::store::LEASE;

#[derive(Default)]
pub(super) struct Reference {
    pub(super) items: BTreeMap<ItemId, WorkItem>,
    /// How the newest attempt of each item ended.
    pub(super) ended_as: BTreeMap<ItemId, &'static str>,
    /// What is kept of attempts, the newest first.
    pub(super) attempts: BTreeMap<ItemId, Vec<AttemptRecord>>,
    pub(super) records: Records,
    schedules: BTreeSet<(String, String)>,
}

impl Reference {
    pub(super) fn of_status(&self, status: Status) -> Vec<ItemId> {
        self.items.values().filter(|item| item.status == status).map(|item| item.id).collect()
    }

    fn with_key(&self, kind: &str, key: &str) -> impl Iterator<Item = &WorkItem> {
        self.items.values().filter(move |item| item.kind == kind && item.dedup_key.as_deref() == Some(key))
    }

    pub(super) fn queued_with_key_of(&self, item: &WorkItem) -> Option<ItemId> {
        let key = item.dedup_key.as_deref()?;
        self.with_key(&item.kind, key).find(|other| other.status == Status::Queued).map(|other| other.id)
    }

    /// An id is all that the store decides by itself: each new one is larger than all before.
    pub(super) fn enqueue(&mut self, new: &NewItem, answer: Enqueued, largest: &mut ItemId) {
        let item = queued(answer.id(), new);
        match self.queued_with_key_of(&item) {
            Some(id) => assert_eq!(answer, Enqueued::Existing(id), "{new:?}"),
            None => {
                assert_eq!(answer, Enqueued::Created(item.id), "{new:?}");
                assert!(item.id > *largest, "{} after {largest}", item.id);
                *largest = item.id;
                self.items.insert(item.id, item);
            }
        }
    }

    /// Which of these are due.
    pub(super) fn due(&mut self, periodic: &Periodic) -> bool {
        let key = scheduled(periodic).dedup_key.unwrap();
        let Schedule::Every(every) = periodic.schedule else { panic!("the model knows intervals only") };
        let early = OffsetDateTime::now_utc() - every;
        let schedule = Pausable::Schedule { kind: periodic.kind.clone(), scope: periodic.scope.clone() };
        let due = self.with_key(&periodic.kind, &key).all(|item| item.finished_at.is_some_and(|at| at <= early))
            && !self.records.holds_back(&periodic.kind, periodic.scope.as_deref())
            && !self.records.pauses.contains_key(&schedule);
        if due {
            self.schedules.insert((periodic.kind.clone(), key));
        }
        due
    }

    pub(super) fn claim(&mut self, request: &ClaimRequest) -> Vec<ItemId> {
        let busy: HashSet<String> =
            self.of_status(Status::Running).iter().filter_map(|id| self.items[id].scope.clone()).collect();
        let mut slots: BTreeMap<&str, u32> = request.kinds.iter().map(|k| (k.kind.as_str(), k.slots)).collect();
        let serves = |scope: &String| request.scopes.as_ref().is_none_or(|scopes| scopes.contains(scope));
        let mut waiting: Vec<&WorkItem> = self
            .items
            .values()
            .filter(|item| item.status == Status::Queued && item.run_at <= OffsetDateTime::now_utc())
            .filter(|item| slots.contains_key(item.kind.as_str()))
            .filter(|item| !self.records.holds_back(&item.kind, item.scope.as_deref()))
            .filter(|item| item.scope.as_ref().is_none_or(|scope| serves(scope) && !busy.contains(scope)))
            .collect();
        waiting.sort_by_key(|item| (-item.priority, item.run_at, item.id));
        let mut heads = HashSet::new();
        waiting.retain(|item| item.scope.as_ref().is_none_or(|scope| heads.insert(scope.clone())));
        let mut claimed = Vec::new();
        for item in waiting {
            let free = slots.get_mut(item.kind.as_str()).unwrap();
            if *free > 0 && claimed.len() < request.limit as usize {
                *free -= 1;
                claimed.push(item.id);
            }
        }
        for id in &claimed {
            let item = self.items.get_mut(id).unwrap();
            item.status = Status::Running;
            item.attempt += 1;
            item.host = Some(request.host.clone());
            item.handler_digest = Some(format!("sha256:{}", item.kind));
            (item.lease_expires_at, item.started_at, item.updated_at) = (Some(after(LEASE)), Some(now()), now());
            item.log_tail = None;
            self.ended_as.remove(id);
        }
        claimed
    }

    pub(super) fn holds(&self, fence: Fence) -> bool {
        self.items.get(&fence.id).is_some_and(|item| item.status == Status::Running && item.attempt == fence.attempt)
    }

    pub(super) fn heartbeat(&mut self, beat: &Beat) -> Pulse {
        if !self.holds(beat.fence) {
            return Pulse::Lost;
        }
        let item = self.items.get_mut(&beat.fence.id).unwrap();
        item.lease_expires_at = Some(after(LEASE));
        if beat.progress.is_some() && beat.progress != item.progress {
            item.progress.clone_from(&beat.progress);
            item.updated_at = now();
        }
        if item.cancel_requested_at.is_some() { Pulse::CancelRequested } else { Pulse::Alive }
    }

    /// The expired ones that a sweep moves, oldest lease first; never those in `spared`.
    pub(super) fn expired(&self, spared: &HashSet<Fence>, limit: u32) -> Vec<ItemId> {
        let gone = |item: &&WorkItem| item.lease_expires_at.is_some_and(|at| at < OffsetDateTime::now_utc());
        let spared = |item: &&WorkItem| spared.contains(&Fence { id: item.id, attempt: item.attempt });
        let mut expired: Vec<_> = self.items.values().filter(gone).filter(|item| !spared(item)).collect();
        expired.sort_by_key(|item| (item.lease_expires_at, item.id));
        expired.iter().take(limit as usize).map(|item| item.id).collect()
    }

    pub(super) fn cancel(&mut self, id: ItemId) -> CancelAnswer {
        let Some(item) = self.items.get_mut(&id) else { return CancelAnswer::Unknown };
        match (item.status, item.cancel_requested_at) {
            (Status::Queued, _) => {
                item.status = Status::Cancelled;
                (item.cancel_requested_at, item.finished_at, item.updated_at) = (Some(now()), Some(now()), now());
                CancelAnswer::Cancelled
            }
            (Status::Running, None) => {
                (item.cancel_requested_at, item.updated_at) = (Some(now()), now());
                CancelAnswer::Requested
            }
            (Status::Running, Some(_)) => CancelAnswer::Requested,
            _ => CancelAnswer::Finished,
        }
    }

    pub(super) fn delete_finished(&mut self, fence: Option<Fence>, older_than: Duration, limit: u32) -> Option<u64> {
        if fence.is_some_and(|fence| !self.holds(fence)) {
            return None;
        }
        let before = OffsetDateTime::now_utc() - older_than;
        let age = |item: &WorkItem| item.finished_at.map(|at| (at, item.id));
        let newer = |item: &WorkItem, than: &WorkItem| {
            let place = |item: &WorkItem| (item.finished_at, item.created_at, item.id);
            item.finished_at.is_some() && item.created_at >= than.created_at && place(item) > place(than)
        };
        let needed = |item: &WorkItem| {
            let key = item.dedup_key.clone().unwrap_or_default();
            let superseded = self.with_key(&item.kind, &key).any(|other| newer(other, item));
            self.schedules.contains(&(item.kind.clone(), key)) && !superseded
        };
        let mut old: Vec<_> =
            self.items.values().filter(|item| !needed(item)).filter_map(age).filter(|(at, _)| *at < before).collect();
        old.sort_unstable();
        old.truncate(limit as usize);
        for (_, id) in &old {
            self.items.remove(id);
            self.attempts.remove(id);
        }
        Some(old.len() as u64)
    }
}
