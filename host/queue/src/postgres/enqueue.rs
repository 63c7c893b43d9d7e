//! The one way in.

use std::collections::HashSet;

use sqlx::{PgConnection, PgPool};

use super::session::patient;
use crate::ending::micros;
use crate::{Enqueued, ItemId, NewItem};

/// How often a key may be taken by others and given up again between our two looks.
const ROUNDS: usize = 100;

pub(super) async fn enqueue(pool: &PgPool, items: &[NewItem]) -> sqlx::Result<Vec<Enqueued>> {
    let mut tx = patient(pool).await?;
    let answers = enqueue_in(&mut tx, items).await?;
    tx.commit().await?;
    Ok(answers)
}

/// Enqueues as part of a transaction; whoever listens hears of it once that is committed.
pub(super) async fn enqueue_in(tx: &mut PgConnection, items: &[NewItem]) -> sqlx::Result<Vec<Enqueued>> {
    let mut answers: Vec<Option<Enqueued>> = vec![None; items.len()];
    let mut open: Vec<usize> = (0..items.len()).collect();
    for _ in 0..ROUNDS {
        if open.is_empty() {
            break;
        }
        let ids = draw_ids(tx, open.len()).await?;
        let created = insert(tx, items, &open, &ids).await?;
        for (&index, &id) in open.iter().zip(&ids) {
            if created.contains(&id) {
                answers[index] = Some(Enqueued::Created(ItemId(id)));
            }
        }
        open.retain(|&index| answers[index].is_none());
        for (index, id) in queued_with_key(tx, items, &open).await? {
            answers[index] = Some(Enqueued::Existing(ItemId(id)));
        }
        // What is still open was claimed or cancelled between the two statements, so its key is free now.
        open.retain(|&index| answers[index].is_none());
    }
    let answers: Option<Vec<Enqueued>> = answers.into_iter().collect();
    answers.ok_or_else(|| sqlx::Error::Protocol("a dedup key changed hands too often".to_owned()))
}

/// Draws the ids beforehand, in the order of the items, since the insert visits the items in another order.
async fn draw_ids(tx: &mut PgConnection, count: usize) -> sqlx::Result<Vec<i64>> {
    let mut ids: Vec<i64> =
        sqlx::query_scalar("select nextval('workhost.work_items_id_seq') from generate_series(1, $1)")
            .bind(i64::try_from(count).unwrap_or(i64::MAX))
            .fetch_all(tx)
            .await?;
    ids.sort_unstable();
    Ok(ids)
}

/// Inserts the open items but those whose key is queued already, and wakes the listeners once. Waits for
/// transactions that inserted the same key and did not end yet. Answers the ids that were used.
async fn insert(tx: &mut PgConnection, items: &[NewItem], open: &[usize], ids: &[i64]) -> sqlx::Result<HashSet<i64>> {
    let of = |column: fn(&NewItem) -> Option<&str>| -> Vec<Option<&str>> {
        open.iter().map(|&index| column(&items[index])).collect()
    };
    let created: Vec<i64> = sqlx::query_scalar(
        "with created as (
            insert into workhost.work_items
                (id, kind, payload, dedup_key, scope, priority, run_at, created_at, updated_at)
            overriding system value
            select n.id, n.kind, n.payload::json, n.dedup_key, n.scope, n.priority,
                now() + n.delay * interval '1 microsecond', now(), now()
            from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::bigint[])
                as n (id, kind, payload, dedup_key, scope, priority, delay)
            -- One order for all, so that two batches with the same keys wait for each other in turn.
            order by n.kind collate \"C\", n.dedup_key collate \"C\", n.id
            on conflict (kind, dedup_key) where status = 'queued' and dedup_key is not null do nothing
            returning id
        ), told as materialized (
            select pg_notify('workhost', '') from (select from created limit 1) as any_of_them
        )
        select created.id from created where (select count(*) from told) >= 0",
    )
    .bind(ids)
    .bind(of(|item| Some(&item.kind)))
    .bind(of(|item| Some(item.payload.as_str())))
    .bind(of(|item| item.dedup_key.as_deref()))
    .bind(of(|item| item.scope.as_deref()))
    .bind(open.iter().map(|&index| items[index].priority).collect::<Vec<i32>>())
    .bind(open.iter().map(|&index| micros(items[index].delay)).collect::<Vec<i64>>())
    .fetch_all(tx)
    .await?;
    Ok(created.into_iter().collect())
}

/// The queued items that have the kinds and keys of the open ones.
async fn queued_with_key(tx: &mut PgConnection, items: &[NewItem], open: &[usize]) -> sqlx::Result<Vec<(usize, i64)>> {
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let found: Vec<(i64, i64)> = sqlx::query_as(
        "select n.ord, w.id
        from unnest($1::text[], $2::text[]) with ordinality as n (kind, dedup_key, ord)
        cross join lateral (
            select q.id from workhost.work_items q
            where q.kind = n.kind and q.dedup_key = n.dedup_key and q.status = 'queued'
            limit 1
        ) as w",
    )
    .bind(open.iter().map(|&index| items[index].kind.as_str()).collect::<Vec<_>>())
    .bind(open.iter().map(|&index| items[index].dedup_key.as_deref()).collect::<Vec<_>>())
    .fetch_all(tx)
    .await?;
    Ok(found.into_iter().filter_map(|(ord, id)| Some((*open.get(usize::try_from(ord).ok()? - 1)?, id))).collect())
}
