//! The one way in: the function that applications call in SQL too.

use super::fence;
use super::pool::{Pool, Session};
use super::session::patient;
use crate::ending::micros;
use crate::{Enqueued, Fence, ItemId, NewItem};

pub(super) async fn enqueue(pool: &Pool, items: &[NewItem]) -> sqlx::Result<Vec<Enqueued>> {
    let mut tx = patient(pool).await?;
    let answers = enqueue_in(&mut tx, items, None).await;
    tx.settle(answers).await
}

/// Enqueues unless the attempt does not hold its item any more.
pub(super) async fn enqueue_by(pool: &Pool, parent: Fence, items: &[NewItem]) -> sqlx::Result<Option<Vec<Enqueued>>> {
    let mut tx = patient(pool).await?;
    let answers = async {
        Ok(match fence::hold(&mut tx, parent).await? {
            true => Some(enqueue_in(&mut tx, items, Some(parent.id)).await?),
            false => None,
        })
    }
    .await;
    tx.settle(answers).await
}

/// Enqueues as part of a transaction; whoever listens hears of it once that is committed. Waits for
/// transactions that enqueued the same key and did not end yet.
pub(super) async fn enqueue_in(
    tx: &mut Session,
    items: &[NewItem],
    parent: Option<ItemId>,
) -> sqlx::Result<Vec<Enqueued>> {
    let answers: Vec<(i64, bool)> = sqlx::query_as(
        "select e.id, e.created
        from workhost.enqueue_many($1, $2::text[]::json[], $3, $4, array(
            select now() + d.delay * interval '1 microsecond'
            from unnest($5::bigint[]) with ordinality as d (delay, place)
            order by d.place
        ), $6, $7) as e
        order by e.item",
    )
    .bind(items.iter().map(|item| item.kind.as_str()).collect::<Vec<_>>())
    .bind(items.iter().map(|item| item.payload.as_str()).collect::<Vec<_>>())
    .bind(items.iter().map(|item| item.dedup_key.as_deref()).collect::<Vec<_>>())
    .bind(items.iter().map(|item| item.scope.as_deref()).collect::<Vec<_>>())
    .bind(items.iter().map(|item| micros(item.delay)).collect::<Vec<_>>())
    .bind(items.iter().map(|item| item.priority).collect::<Vec<_>>())
    .bind(parent.map(|parent| parent.0))
    .fetch_all(tx)
    .await?;
    let answer = |(id, created)| if created { Enqueued::Created(ItemId(id)) } else { Enqueued::Existing(ItemId(id)) };
    Ok(answers.into_iter().map(answer).collect())
}
