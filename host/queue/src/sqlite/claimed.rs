//! Claims whose answer was lost on the way.

use std::time::Duration;

use serde_json::json;
use sqlx::SqlitePool;

use super::read::{columns, item};
use super::session::{millis, now, write};
use crate::ending::micros;
use crate::{Claim, Fence, claiming};

/// Extends the leases of what the host holds and does not know of.
pub(super) async fn claimed(
    writer: &SqlitePool,
    host: &str,
    known: &[Fence],
    lease: Duration,
) -> sqlx::Result<Vec<Claim>> {
    let known: Vec<_> = known.iter().map(|fence| json!([fence.id.0, fence.attempt])).collect();
    let mut tx = write(writer).await?;
    let rows = sqlx::query(concat!(
        "update work_items
        set lease_expires_at = ",
        now!(),
        " + ?3
        -- What runs has a lease. Said as the index of the leases says it: it is the way there.
        where lease_expires_at is not null and status = 'running' and host = ?1
            and (id, attempt) not in (select j.value ->> 0, j.value ->> 1 from json_each(?2) as j)
        returning ",
        columns!()
    ))
    .bind(host)
    .bind(json!(known).to_string())
    .bind(millis(micros(lease)))
    .fetch_all(&mut *tx)
    .await?;
    tx.commit().await?;
    let mut claims = rows.iter().map(|row| item(row).map(|item| Claim { item })).collect::<sqlx::Result<Vec<_>>>()?;
    claiming::sort(&mut claims);
    Ok(claims)
}
