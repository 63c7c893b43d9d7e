//! The attempts that this process holds, by its own clock.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::Fence;

/// The attempts claimed through this value and not ended yet, each with the time until which its lease runs.
///
/// SQLite's clock is the machine's wall clock, which may jump. The process that serves a file knows better
/// which of its own attempts live, and never recovers one of them because the clock jumped.
#[derive(Debug, Default)]
pub(super) struct Live(Mutex<HashMap<Fence, Instant>>);

impl Live {
    pub(super) fn keep(&self, fences: impl IntoIterator<Item = Fence>, until: Instant) {
        self.map().extend(fences.into_iter().map(|fence| (fence, until)));
    }

    pub(super) fn forget(&self, fence: Fence) {
        self.map().remove(&fence);
    }

    /// The attempts whose leases run now. Forgets the others.
    pub(super) fn now(&self) -> Vec<Fence> {
        let now = Instant::now();
        let mut map = self.map();
        map.retain(|_, until| *until > now);
        map.keys().copied().collect()
    }

    fn map(&self) -> MutexGuard<'_, HashMap<Fence, Instant>> {
        // The map is whole after any panic: each change to it is one call.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ItemId;

    #[test]
    fn an_attempt_lives_until_it_is_forgotten_or_its_lease_runs_out() {
        let live = Live::default();
        let [over, held, ended] = [1, 2, 3].map(|id| Fence { id: ItemId(id), attempt: 1 });
        let lease = Duration::from_secs(60);
        live.keep([over], Instant::now());
        live.keep([held, ended], Instant::now() + lease);
        live.forget(ended);
        assert_eq!(live.now(), [held]);
        live.keep([over], Instant::now() + lease);
        assert_eq!(live.now().len(), 2);
    }
}
