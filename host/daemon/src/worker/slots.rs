//! How much this host runs at a time, in all and of each kind.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use tokio::sync::Notify;
use workhost_queue::{Claim, ClaimRequest, KindSlots, LastChances, WorkItem};

use super::spacing::Spacing;
use crate::registry::Registry;

/// The host's slots. A claim asks for no more than is free, so that nothing is claimed only to wait.
pub(super) struct Slots {
    total: u32,
    book: Mutex<Book>,
    freed: Notify,
}

#[derive(Default)]
struct Book {
    /// How many are taken of each kind.
    taken: HashMap<String, u32>,
    /// How many of them by items that one more stall fails.
    last_chances: u32,
    /// Kinds of which the newest claim found fewer than it had slots for: one more slot brings nothing.
    sated: HashSet<String>,
}

/// One taken slot; free again when dropped.
pub(super) struct Slot {
    slots: Arc<Slots>,
    kind: String,
    /// Whether one more stall fails its item: the next such item may be waiting for it.
    last_chance: bool,
    /// Whether its item has a scope: the next item of that scope may be waiting for it.
    scoped: bool,
}

impl Slots {
    pub(super) fn new(total: u32) -> Arc<Slots> {
        Arc::new(Slots { total, book: Mutex::default(), freed: Notify::new() })
    }

    /// The free slots in all, and of each kind that has any and may be claimed now. That they were freed is no news then.
    pub(super) fn free(&self, registry: &Registry, spacing: &Spacing) -> (u32, Vec<KindSlots>) {
        let _ = self.freed.notified().now_or_never();
        let taken = &self.lock().taken;
        let free = self.total.saturating_sub(taken.values().sum());
        let kinds = registry.kinds().filter_map(|kind| {
            let running = taken.get(&kind.name).copied().unwrap_or(0);
            let limit = kind.settings.slots.unwrap_or(self.total);
            let slots = spacing.of(&kind.name, running, limit.saturating_sub(running).min(free));
            (slots > 0).then(|| KindSlots { kind: kind.name.clone(), slots, handler_digest: kind.digest.clone() })
        });
        (free, kinds.collect())
    }

    /// Remembers what a claim has left to be claimed.
    pub(super) fn asked_for(&self, request: &ClaimRequest, claims: &[Claim]) {
        let mut left: HashMap<&str, usize> =
            request.kinds.iter().map(|kind| (kind.kind.as_str(), kind.slots as usize)).collect();
        for claim in claims {
            if let Some(left) = left.get_mut(claim.item.kind.as_str()) {
                *left = left.saturating_sub(1);
            }
        }
        // A claim that took all it could says nothing of what else there is.
        left.retain(|_, left| *left > 0 && claims.len() < request.limit as usize);
        self.lock().sated = left.into_keys().map(str::to_owned).collect();
    }

    /// What the next claim may take of items that one more stall fails: one at a time. Where the first stall fails them,
    /// all are alike.
    pub(super) fn last_chances(&self, max_stalls: u32) -> LastChances {
        LastChances { stalls: last_chance(max_stalls), limit: u32::from(self.lock().last_chances == 0) }
    }

    pub(super) fn take(self: &Arc<Self>, item: &WorkItem, max_stalls: u32) -> Slot {
        let mut book = self.lock();
        *book.taken.entry(item.kind.clone()).or_default() += 1;
        let last_chance = item.stalls >= last_chance(max_stalls);
        book.last_chances += u32::from(last_chance);
        Slot { slots: self.clone(), kind: item.kind.clone(), last_chance, scoped: item.scope.is_some() }
    }

    /// Returns when a slot for which there may be work was freed since the last call.
    pub(super) async fn freed(&self) {
        self.freed.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The stalls with which an item is on its last chance.
fn last_chance(max_stalls: u32) -> u32 {
    max_stalls.saturating_sub(1).max(1)
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut book = self.slots.lock();
        if let Some(count) = book.taken.get_mut(&self.kind) {
            *count -= 1;
        }
        book.last_chances -= u32::from(self.last_chance);
        if self.scoped || self.last_chance || !book.sated.contains(&self.kind) {
            self.slots.freed.notify_one();
        }
    }
}
