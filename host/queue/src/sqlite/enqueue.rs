//! The one way in.

use sqlx::{SqliteConnection, SqlitePool};

use super::changes::change;
use super::session::{millis, now, write};
use crate::ending::micros;
use crate::{Enqueued, ItemId, NewItem};

pub(super) async fn enqueue(writer: &SqlitePool, items: &[NewItem]) -> sqlx::Result<Vec<Enqueued>> {
    let mut tx = write(writer).await?;
    let mut answers = Vec::with_capacity(items.len());
    for item in items {
        answers.push(enqueue_in(&mut tx, item).await?);
    }
    tx.commit().await?;
    Ok(answers)
}

/// Enqueues one item as part of a transaction.
pub(super) async fn enqueue_in(tx: &mut SqliteConnection, item: &NewItem) -> sqlx::Result<Enqueued> {
    if let Some(id) = insert(tx, item).await? {
        return Ok(Enqueued::Created(ItemId(id)));
    }
    // The transaction holds the write lock, so the item that was in the way is still queued.
    let id: i64 =
        sqlx::query_scalar("select id from work_items where kind = ?1 and dedup_key = ?2 and status = 'queued'")
            .bind(&item.kind)
            .bind(&item.dedup_key)
            .fetch_one(tx)
            .await?;
    Ok(Enqueued::Existing(ItemId(id)))
}

/// Inserts the item unless its key is queued already.
async fn insert(tx: &mut SqliteConnection, item: &NewItem) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar(concat!(
        "insert into work_items (kind, payload, dedup_key, scope, priority, run_at, created_at, updated_at, changed)
        values (?1, ?2, ?3, ?4, ?5, ",
        now!(),
        " + ?6, ",
        now!(),
        ", ",
        now!(),
        ", ",
        change!(),
        ")
        on conflict (kind, dedup_key) where status = 'queued' and dedup_key is not null do nothing
        returning id"
    ))
    .bind(&item.kind)
    .bind(item.payload.as_str())
    .bind(&item.dedup_key)
    .bind(&item.scope)
    .bind(item.priority)
    .bind(millis(micros(item.delay)))
    .fetch_optional(tx)
    .await
}
