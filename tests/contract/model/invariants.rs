//! What holds after each step, whatever the step was, read from the store's tables alone.

use std::collections::BTreeMap;

use workhost_queue::{ItemId, WorkItem};

use crate::store::TestStore;

/// What no row, or no two, may ever show; each with the rows that do.
const NEVER: [(&str, &str); 6] = [
    (
        "two items of a scope run",
        "select 1 from work_items where status = 'running' and scope is not null group by scope having count(*) > 1",
    ),
    (
        "two items of a kind with one key are queued",
        "select 1 from work_items where status = 'queued' and dedup_key is not null
        group by kind, dedup_key having count(*) > 1",
    ),
    (
        "an item whose cancel was requested is queued, or succeeded",
        "select 1 from work_items where cancel_requested_at is not null and status in ('queued', 'succeeded')",
    ),
    (
        "an item has a lease and does not run, or runs without one",
        "select 1 from work_items where (status = 'running') <> (lease_expires_at is not null)",
    ),
    (
        "an attempt ended that never began, or that runs",
        "select 1 from attempts a join work_items w on w.id = a.item_id
        where a.attempt > w.attempt or (a.attempt = w.attempt and w.status = 'running')",
    ),
    (
        "an attempt is kept of an item that is gone",
        "select 1 from attempts where item_id not in (select id from work_items)",
    ),
];

pub(super) async fn hold(store: &TestStore, before: &BTreeMap<ItemId, WorkItem>, after: &BTreeMap<ItemId, WorkItem>) {
    let cases: String =
        NEVER.iter().enumerate().map(|(at, (_, rows))| format!(" when exists ({rows}) then {at}")).collect();
    let broken = store.number(format!("select cast(case{cases} else -1 end as bigint)")).await;
    assert!(broken < 0, "{}: {after:?}", NEVER[broken.unsigned_abs() as usize].0);
    for (id, was) in before {
        let Some(is) = after.get(id) else {
            assert!(was.status.is_finished(), "an item was deleted before it finished: {was:?}");
            continue;
        };
        assert!(is.attempt >= was.attempt, "attempts fell: {was:?}, then {is:?}");
        assert!(
            was.cancel_requested_at.is_none() || is.cancel_requested_at == was.cancel_requested_at,
            "a cancel was lost: {is:?}"
        );
        if was.status.is_finished() {
            assert_eq!(format!("{is:?}"), format!("{was:?}"), "a finished item changed");
        }
    }
}
