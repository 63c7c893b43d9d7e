//! What holds after each step, whatever the step was, read from the store's rows alone.

use std::collections::{BTreeMap, HashSet};

use workhost_queue::{ItemId, Status, WorkItem};

pub(super) fn hold(before: &BTreeMap<ItemId, WorkItem>, after: &BTreeMap<ItemId, WorkItem>) {
    let (mut busy, mut keys) = (HashSet::new(), HashSet::new());
    for item in after.values() {
        if let (Status::Running, Some(scope)) = (item.status, &item.scope) {
            assert!(busy.insert(scope), "two items of scope {scope} run");
        }
        if let (Status::Queued, Some(key)) = (item.status, &item.dedup_key) {
            assert!(keys.insert((&item.kind, key)), "two items of kind {} with key {key} are queued", item.kind);
        }
        let asked = item.cancel_requested_at.is_some();
        assert!(!asked || !matches!(item.status, Status::Queued | Status::Succeeded), "a cancel was lost: {item:?}");
    }
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
