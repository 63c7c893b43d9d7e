//! A new item.

use workhost_queue::{ItemId, Json, NewItem, Periodic, Status, WorkItem};

use super::times::{after, now};

/// What a store makes of an item that is enqueued.
pub(super) fn queued(id: ItemId, new: &NewItem) -> WorkItem {
    WorkItem {
        id,
        kind: new.kind.clone(),
        payload: Json::clone(&new.payload),
        dedup_key: new.dedup_key.clone(),
        scope: new.scope.clone(),
        priority: new.priority,
        run_at: after(new.delay),
        status: Status::Queued,
        attempt: 0,
        stalls: 0,
        failures: 0,
        interruptions: 0,
        progress: None,
        result: None,
        error: None,
        log_tail: None,
        reason: None,
        host: None,
        handler_digest: None,
        parent_id: None,
        lease_expires_at: None,
        cancel_requested_at: None,
        created_at: now(),
        updated_at: now(),
        started_at: None,
        finished_at: None,
    }
}

/// What a schedule enqueues. Its key is stated here once more.
pub(super) fn scheduled(periodic: &Periodic) -> NewItem {
    let Periodic { kind, scope, payload, .. } = periodic;
    let key = scope.as_ref().map_or_else(|| kind.clone(), |scope| format!("{kind}/{scope}"));
    NewItem { dedup_key: Some(key), scope: scope.clone(), ..NewItem::new(kind, payload.clone()) }
}
