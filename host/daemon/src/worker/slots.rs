//! How much this host runs at a time, in all and of each kind.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use workhost_queue::KindSlots;

use crate::registry::Registry;

/// The host's slots. A claim asks for no more than is free, so that nothing is claimed only to wait.
pub(super) struct Slots {
    total: u32,
    taken: Mutex<HashMap<String, u32>>,
    freed: Notify,
}

/// One taken slot; free again when dropped.
pub(super) struct Slot {
    slots: Arc<Slots>,
    kind: String,
}

impl Slots {
    pub(super) fn new(total: u32) -> Slots {
        Slots { total, taken: Mutex::default(), freed: Notify::new() }
    }

    /// The free slots in all, and of each kind that has any.
    pub(super) fn free(&self, registry: &Registry) -> (u32, Vec<KindSlots>) {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.total.saturating_sub(taken.values().sum());
        let kinds = registry.kinds().filter_map(|kind| {
            let limit = kind.settings.slots.unwrap_or(self.total);
            let slots = limit.saturating_sub(taken.get(&kind.name).copied().unwrap_or(0)).min(free);
            (slots > 0).then(|| KindSlots {
                kind: kind.name.clone(),
                slots,
                handler_digest: kind.handler.examined().digest.clone(),
            })
        });
        (free, kinds.collect())
    }

    pub(super) fn take(self: &Arc<Self>, kind: &str) -> Slot {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner).entry(kind.to_owned()).or_default() += 1;
        Slot { slots: self.clone(), kind: kind.to_owned() }
    }

    /// Returns when a slot was freed since the last call.
    pub(super) async fn freed(&self) {
        self.freed.notified().await;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.kind) {
            *count -= 1;
        }
        drop(taken);
        self.slots.freed.notify_one();
    }
}
