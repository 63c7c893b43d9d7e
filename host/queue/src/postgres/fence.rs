//! What is written on behalf of a running attempt, besides its own item.

use super::pool::Session;
use crate::Fence;
use crate::ending::number;

/// Whether the attempt holds its item. If so it goes on holding it until this transaction ends: whoever would take the item
/// away, or finish it, waits.
pub(super) async fn hold(tx: &mut Session, fence: Fence) -> sqlx::Result<bool> {
    let status: Option<String> = sqlx::query_scalar(
        "select w.status from workhost.work_items w where w.id = $1 and w.attempt = $2 for no key update",
    )
    .bind(fence.id.0)
    .bind(number(fence.attempt))
    .fetch_optional(tx)
    .await?;
    Ok(status.as_deref() == Some("running"))
}
