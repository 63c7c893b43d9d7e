//! Enqueueing what is due again.

use sqlx::{SqliteConnection, SqlitePool};

use super::enqueue::enqueue_in;
use super::session::{millis, now, write};
use crate::ending::micros;
use crate::{Enqueued, ItemId, Periodic};

pub(super) async fn enqueue_due(
    readers: &SqlitePool,
    writer: &SqlitePool,
    periodics: &[Periodic],
) -> sqlx::Result<Vec<ItemId>> {
    let mut ids = Vec::new();
    for periodic in periodics {
        // At most polls nothing is due, so a look without the write lock comes first.
        if is_due(&mut *readers.acquire().await?, periodic).await? {
            ids.extend(enqueue_one(writer, periodic).await?);
        }
    }
    Ok(ids)
}

/// Enqueues one periodic kind unless another process just did.
async fn enqueue_one(writer: &SqlitePool, periodic: &Periodic) -> sqlx::Result<Option<ItemId>> {
    let mut tx = write(writer).await?;
    if !is_due(&mut tx, periodic).await? {
        return Ok(None);
    }
    sqlx::query(concat!(
        "insert into schedules (kind, dedup_key, created_at) values (?1, ?2, ",
        now!(),
        ") on conflict do nothing"
    ))
    .bind(&periodic.kind)
    .bind(periodic.key())
    .execute(&mut *tx)
    .await?;
    let answer = enqueue_in(&mut tx, &periodic.item()).await?;
    tx.commit().await?;
    Ok(Enqueued::created(answer))
}

/// Whether it is due: nothing queued or running with the key, nothing finished within the interval, and nothing
/// paused. Exactly one interval after finishing is due.
async fn is_due(connection: &mut SqliteConnection, periodic: &Periodic) -> sqlx::Result<bool> {
    sqlx::query_scalar(concat!(
        "select not exists (
            select 1 from work_items where kind = ?1 and dedup_key = ?2 and status = 'queued'
        ) and not exists (
            select 1 from work_items where kind = ?1 and dedup_key = ?2 and status = 'running'
        ) and not exists (
            select 1 from work_items where kind = ?1 and dedup_key = ?2 and finished_at > ",
        now!(),
        " - ?3
        ) and not exists (
            select 1 from pauses
            where (what, kind, scope) in (values ('kind', ?1, ''), ('scope', '', ?4), ('schedule', ?1, ?4))
        )"
    ))
    .bind(&periodic.kind)
    .bind(periodic.key())
    .bind(millis(micros(periodic.every)))
    .bind(periodic.scope.as_deref().unwrap_or_default())
    .fetch_one(connection)
    .await
}
