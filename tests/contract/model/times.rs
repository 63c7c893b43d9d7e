//! Times, which only the store knows.

use std::time::Duration;

use time::OffsetDateTime;
use workhost_queue::WorkItem;

/// Stands for the time at which the store carries a step out, until the row tells it.
pub(super) fn now() -> OffsetDateTime {
    OffsetDateTime::UNIX_EPOCH
}

/// The same, this much later.
pub(super) fn after(delay: Duration) -> OffsetDateTime {
    now() + delay
}

/// Takes the times that a step set from the store's row, if they lie within the step; all others stay.
pub(super) fn settle(expected: &mut WorkItem, actual: &WorkItem, began: OffsetDateTime) {
    settle_time(&mut expected.run_at, actual.run_at, began);
    settle_time(&mut expected.created_at, actual.created_at, began);
    settle_time(&mut expected.updated_at, actual.updated_at, began);
    settle_if_any(&mut expected.lease_expires_at, actual.lease_expires_at, began);
    settle_if_any(&mut expected.cancel_requested_at, actual.cancel_requested_at, began);
    settle_if_any(&mut expected.started_at, actual.started_at, began);
    settle_if_any(&mut expected.finished_at, actual.finished_at, began);
}

/// The same for one time.
pub(super) fn settle_time(expected: &mut OffsetDateTime, actual: OffsetDateTime, began: OffsetDateTime) {
    // SQLite keeps milliseconds.
    let slack = Duration::from_millis(2);
    let offset = *expected - now();
    let within = began - slack..=OffsetDateTime::now_utc() + slack;
    if expected.year() == now().year() && within.contains(&(actual - offset)) {
        *expected = actual;
    }
}

/// The same for one that may be missing.
pub(super) fn settle_if_any(
    expected: &mut Option<OffsetDateTime>,
    actual: Option<OffsetDateTime>,
    began: OffsetDateTime,
) {
    if let (Some(expected), Some(actual)) = (expected, actual) {
        settle_time(expected, actual, began);
    }
}
