//! The one way in.

use std::collections::HashSet;

use serde_json::{Value, json};
use sqlx::{SqliteConnection, SqlitePool};

use super::batch::batches;
use super::fence;
use super::session::{millis, now, write};
use crate::ending::micros;
use crate::{Enqueued, Fence, ItemId, NewItem};

pub(super) async fn enqueue(writer: &SqlitePool, items: &[NewItem]) -> sqlx::Result<Vec<Enqueued>> {
    let mut tx = write(writer).await?;
    let answers = enqueue_in(&mut tx, items, None).await?;
    tx.commit().await?;
    Ok(answers)
}

/// Enqueues unless the attempt does not hold its item any more.
pub(super) async fn enqueue_by(
    writer: &SqlitePool,
    parent: Fence,
    items: &[NewItem],
) -> sqlx::Result<Option<Vec<Enqueued>>> {
    let mut tx = write(writer).await?;
    if !fence::hold(&mut tx, parent).await? {
        return Ok(None);
    }
    let answers = enqueue_in(&mut tx, items, Some(parent.id)).await?;
    tx.commit().await?;
    Ok(Some(answers))
}

/// Enqueues items as part of a transaction, which holds the write lock: nothing changes between the statements.
pub(super) async fn enqueue_in(
    tx: &mut SqliteConnection,
    items: &[NewItem],
    parent: Option<ItemId>,
) -> sqlx::Result<Vec<Enqueued>> {
    let mut answers = Vec::with_capacity(items.len());
    for batch in batches(items, |item| item.payload.as_str().len()) {
        answers.extend(enqueue_batch(tx, batch, parent).await?);
    }
    Ok(answers)
}

async fn enqueue_batch(
    tx: &mut SqliteConnection,
    items: &[NewItem],
    parent: Option<ItemId>,
) -> sqlx::Result<Vec<Enqueued>> {
    // The numbers are given here, so that each answer finds its item.
    let (newest, change): (i64, i64) = sqlx::query_as(
        "select coalesce((select seq from sqlite_sequence where name = 'work_items'), 0),
            max(coalesce((select max(changed) from work_items), 0), f.through)
        from forgotten f",
    )
    .fetch_one(&mut *tx)
    .await?;
    let ids: Vec<i64> = (newest + 1..).take(items.len()).collect();
    let created = insert(tx, items, parent, newest + 1, change + 1).await?;
    let mut answers: Vec<Enqueued> = ids.iter().map(|id| Enqueued::Created(ItemId(*id))).collect();
    let in_the_way = ids.iter().enumerate().filter(|(_, id)| !created.contains(id)).map(|(place, _)| place).collect();
    for (place, id) in queued(tx, items, in_the_way).await? {
        answers[place] = Enqueued::Existing(ItemId(id));
    }
    Ok(answers)
}

/// Inserts the items whose key is not queued already, and answers their numbers.
async fn insert(
    tx: &mut SqliteConnection,
    items: &[NewItem],
    parent: Option<ItemId>,
    first_id: i64,
    first_change: i64,
) -> sqlx::Result<HashSet<i64>> {
    let rows: Vec<Value> = items
        .iter()
        .map(|item| {
            let delay = millis(micros(item.delay));
            json!([item.kind, item.payload.as_str(), item.dedup_key, item.scope, item.priority, delay])
        })
        .collect();
    let ids: Vec<i64> = sqlx::query_scalar(concat!(
        "insert into work_items (id, kind, payload, dedup_key, scope, priority, run_at, created_at, updated_at, changed, parent_id)
        select ?2 + j.key, j.value ->> 0, j.value ->> 1, j.value ->> 2, j.value ->> 3, j.value ->> 4, ",
        now!(),
        " + (j.value ->> 5), ",
        now!(),
        ", ",
        now!(),
        ", ?3 + j.key, ?4
        from json_each(?1) as j
        where true
        order by j.key
        on conflict (kind, dedup_key) where status = 'queued' and dedup_key is not null do nothing
        returning id"
    ))
    .bind(Value::from(rows).to_string())
    .bind(first_id)
    .bind(first_change)
    .bind(parent.map(|parent| parent.0))
    .fetch_all(tx)
    .await?;
    Ok(ids.into_iter().collect())
}

/// The queued items that have the keys of these, with the places of these.
async fn queued(tx: &mut SqliteConnection, items: &[NewItem], places: Vec<usize>) -> sqlx::Result<Vec<(usize, i64)>> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let keys: Vec<Value> = places.iter().map(|place| json!([items[*place].kind, items[*place].dedup_key])).collect();
    let ids: Vec<i64> = sqlx::query_scalar(
        "select w.id from json_each(?1) as j cross join work_items w
            on w.kind = j.value ->> 0 and w.dedup_key = j.value ->> 1 and w.status = 'queued'
        order by j.key",
    )
    .bind(Value::from(keys).to_string())
    .fetch_all(tx)
    .await?;
    Ok(places.into_iter().zip(ids).collect())
}
