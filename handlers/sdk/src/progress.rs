//! How often progress is told.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The shortest time between two snapshots that a host is told. People see no more than a few a second,
/// and the host writes one per heartbeat.
const INTERVAL: Duration = Duration::from_millis(250);

/// Lets the first snapshot through, then one per interval.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    last: Cell<Option<Instant>>,
}

impl Throttle {
    /// Whether a snapshot is due at this time; if so, the interval starts anew.
    pub(crate) fn due(&self, now: Instant) -> bool {
        let due = self.last.get().is_none_or(|last| now.duration_since(last) >= INTERVAL);
        if due {
            self.last.set(Some(now));
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_snapshot_is_told_at_once_and_then_one_per_interval() {
        let start = Instant::now();
        let throttle = Throttle::default();
        let due = |ms| throttle.due(start + Duration::from_millis(ms));
        assert_eq!([due(0), due(1), due(249), due(250), due(499), due(500)], [true, false, false, true, false, true]);
    }
}
