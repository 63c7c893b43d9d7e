//! Calling an item off.

use sqlx::PgPool;

use super::session::patient;
use crate::{CancelAnswer, ItemId};

/// One statement. It waits for a claim that is being made, and then sees which of the two came first.
pub(super) async fn cancel(pool: &PgPool, id: ItemId) -> sqlx::Result<CancelAnswer> {
    let mut tx = patient(pool).await?;
    let was: Option<String> = sqlx::query_scalar(
        "with item as materialized (
            select w.id, w.status from workhost.work_items w where w.id = $1 for no key update
        ), called_off as (
            update workhost.work_items w
            set status = case when item.status = 'queued' then 'cancelled' else w.status end,
                finished_at = case when item.status = 'queued' then now() end,
                cancel_requested_at = now(),
                updated_at = now()
            from item
            where w.id = item.id and item.status in ('queued', 'running') and w.cancel_requested_at is null
        )
        select item.status from item",
    )
    .bind(id.0)
    .fetch_optional(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(match was.as_deref() {
        None => CancelAnswer::Unknown,
        Some("queued") => CancelAnswer::Cancelled,
        Some("running") => CancelAnswer::Requested,
        Some(_) => CancelAnswer::Finished,
    })
}
