//! Calling an item off.

use super::audit;
use super::pool::{Pool, Session};
use super::session::patient;
use crate::{CancelAnswer, Deed, ItemId};

/// One status-guarded statement. It waits for a claim that is being made, and then sees which of the two came first.
pub(super) async fn cancel(pool: &Pool, id: ItemId, deed: &Deed) -> sqlx::Result<CancelAnswer> {
    let mut tx = patient(pool).await?;
    let answer = cancel_in(&mut tx, id, deed).await;
    tx.settle(answer).await
}

async fn cancel_in(tx: &mut Session, id: ItemId, deed: &Deed) -> sqlx::Result<CancelAnswer> {
    let changed = call_off(tx, id).await?;
    let answer = match changed.as_deref() {
        Some("cancelled") => CancelAnswer::Cancelled,
        Some(_) => CancelAnswer::Requested,
        None => untouched(tx, id).await?,
    };
    if changed.is_some() {
        audit::record(tx, deed).await?;
    }
    Ok(answer)
}

/// Answers the item's new status, if this changed anything.
///
/// No part of it reads the status beforehand. A row that changed while the statement waited is computed anew from
/// its newest version, but first from the old one, which must satisfy the constraints too.
async fn call_off(tx: &mut Session, id: ItemId) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar(
        "update workhost.work_items w
        set status = case when w.status = 'queued' then 'cancelled' else w.status end,
            finished_at = case when w.status = 'queued' then now() end,
            cancel_requested_at = now(),
            updated_at = now(), changed = pg_current_xact_id()
        where w.id = $1 and w.status in ('queued', 'running') and w.cancel_requested_at is null
        returning w.status",
    )
    .bind(id.0)
    .fetch_optional(tx)
    .await
}

/// What is true of an item that needed no change: it is finished, it was asked before, or it does not exist.
async fn untouched(tx: &mut Session, id: ItemId) -> sqlx::Result<CancelAnswer> {
    let status: Option<String> = sqlx::query_scalar("select w.status from workhost.work_items w where w.id = $1")
        .bind(id.0)
        .fetch_optional(tx)
        .await?;
    Ok(match status.as_deref() {
        None => CancelAnswer::Unknown,
        Some("running") => CancelAnswer::Requested,
        Some(_) => CancelAnswer::Finished,
    })
}
