//! Calling an item off.

use sqlx::SqlitePool;

use super::audit;
use super::changes::change;
use super::session::{now, write};
use crate::{CancelAnswer, Deed, ItemId};

pub(super) async fn cancel(writer: &SqlitePool, id: ItemId, deed: &Deed) -> sqlx::Result<CancelAnswer> {
    let mut tx = write(writer).await?;
    let was: Option<String> =
        sqlx::query_scalar("select status from work_items where id = ?1").bind(id.0).fetch_optional(&mut *tx).await?;
    let changed = sqlx::query(concat!(
        "update work_items
        set finished_at = iif(status = 'queued', ",
        now!(),
        ", null),
            status = iif(status = 'queued', 'cancelled', status),
            cancel_requested_at = ",
        now!(),
        ",
            updated_at = ",
        now!(),
        ", changed = ",
        change!(),
        " where id = ?1 and status in ('queued', 'running') and cancel_requested_at is null"
    ))
    .bind(id.0)
    .execute(&mut *tx)
    .await?;
    if changed.rows_affected() > 0 {
        audit::record(&mut tx, deed).await?;
    }
    tx.commit().await?;
    Ok(match was.as_deref() {
        None => CancelAnswer::Unknown,
        Some("queued") => CancelAnswer::Cancelled,
        Some("running") => CancelAnswer::Requested,
        Some(_) => CancelAnswer::Finished,
    })
}
