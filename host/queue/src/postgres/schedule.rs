//! Enqueueing what is due again.

use sqlx::PgExecutor;

use super::enqueue::enqueue_in;
use super::pool::{Pool, Session};
use super::session::patient;
use crate::ending::micros;
use crate::{Enqueued, ItemId, Periodic};

pub(super) async fn enqueue_due(pool: &Pool, periodics: &[Periodic]) -> sqlx::Result<Vec<ItemId>> {
    let mut ids = Vec::new();
    // At most polls nothing is due, so one look without a lock comes first.
    for index in due(pool, periodics).await? {
        ids.extend(enqueue_one(pool, &periodics[index]).await?);
    }
    Ok(ids)
}

/// Enqueues one periodic kind unless another host is about to, or just did.
async fn enqueue_one(pool: &Pool, periodic: &Periodic) -> sqlx::Result<Option<ItemId>> {
    let mut tx = patient(pool).await?;
    let id = enqueue_one_in(&mut tx, periodic).await;
    tx.settle(id).await
}

async fn enqueue_one_in(tx: &mut Session, periodic: &Periodic) -> sqlx::Result<Option<ItemId>> {
    let ours: bool = sqlx::query_scalar("select pg_try_advisory_xact_lock(hashtextextended($1, 0))")
        .bind(format!("workhost schedule {}", periodic.key()))
        .fetch_one(&mut *tx)
        .await?;
    // A statement of its own after the lock: it sees what the host that held the lock before has done.
    if !ours || due(&mut *tx, std::slice::from_ref(periodic)).await?.is_empty() {
        return Ok(None);
    }
    sqlx::query("insert into workhost.schedules (kind, dedup_key) values ($1, $2) on conflict do nothing")
        .bind(&periodic.kind)
        .bind(periodic.key())
        .execute(&mut *tx)
        .await?;
    let answers = enqueue_in(tx, &[periodic.item()]).await?;
    Ok(answers.into_iter().find_map(Enqueued::created))
}

/// Which of these are due, by their places: nothing queued or running with the key, nothing finished within
/// the interval, and nothing paused. Exactly one interval after finishing is due.
async fn due(executor: impl PgExecutor<'_>, periodics: &[Periodic]) -> sqlx::Result<Vec<usize>> {
    let places: Vec<i64> = sqlx::query_scalar(
        "select p.ord - 1
        from unnest($1::text[], $2::text[], $3::text[], $4::bigint[])
            with ordinality as p (kind, scope, dedup_key, every, ord)
        where not exists (
            select from workhost.work_items w
            where w.kind = p.kind and w.dedup_key = p.dedup_key and w.status = 'queued'
        ) and not exists (
            select from workhost.work_items w
            where w.kind = p.kind and w.dedup_key = p.dedup_key and w.status = 'running'
        ) and not exists (
            select from workhost.work_items w
            where w.kind = p.kind and w.dedup_key = p.dedup_key
                and w.finished_at > now() - p.every * interval '1 microsecond'
        ) and not exists (
            select from workhost.pauses s
            where (s.what, s.kind, s.scope) in (('kind', p.kind, ''), ('scope', '', p.scope), ('schedule', p.kind, p.scope))
        )
        order by p.ord",
    )
    .bind(periodics.iter().map(|periodic| periodic.kind.as_str()).collect::<Vec<_>>())
    .bind(periodics.iter().map(|periodic| periodic.scope.as_deref().unwrap_or_default()).collect::<Vec<_>>())
    .bind(periodics.iter().map(Periodic::key).collect::<Vec<_>>())
    .bind(periodics.iter().map(|periodic| micros(periodic.every)).collect::<Vec<_>>())
    .fetch_all(executor)
    .await?;
    Ok(places.into_iter().filter_map(|place| usize::try_from(place).ok()).collect())
}
