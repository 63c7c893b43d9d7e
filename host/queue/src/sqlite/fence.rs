//! What is written on behalf of a running attempt, besides its own item.

use sqlx::SqliteConnection;

use crate::Fence;
use crate::ending::number;

/// Whether the attempt holds its item. In a transaction that writes it goes on holding it until that ends.
pub(super) async fn hold(tx: &mut SqliteConnection, fence: Fence) -> sqlx::Result<bool> {
    sqlx::query_scalar("select exists (select 1 from work_items where id = ?1 and attempt = ?2 and status = 'running')")
        .bind(fence.id.0)
        .bind(number(fence.attempt))
        .fetch_one(tx)
        .await
}
