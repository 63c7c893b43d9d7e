//! Enqueueing what is due again.

use sqlx::PgExecutor;
use time::OffsetDateTime;

use super::enqueue::enqueue_in;
use super::pool::{Pool, Session};
use super::session::patient;
use crate::ending::micros;
use crate::schedule::{History, Verdict};
use crate::{Enqueued, ItemId, Periodic};

pub(super) async fn enqueue_due(pool: &Pool, periodics: &[&Periodic]) -> sqlx::Result<Vec<ItemId>> {
    let mut ids = Vec::new();
    let mut new = Vec::new();
    // At most polls nothing is due, so one look without a lock comes first.
    for (periodic, verdict) in judge(pool, periodics).await? {
        match verdict {
            Verdict::Wait => {}
            Verdict::FirstSeen => new.push(periodic),
            Verdict::Due => ids.extend(enqueue_one(pool, periodic).await?),
        }
    }
    if !new.is_empty() {
        note_seen(pool, &new).await?;
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
    if !ours {
        return Ok(None);
    }
    // A statement of its own after the lock: it sees what the host that held the lock before has done.
    match judge(&mut *tx, &[periodic]).await?[..] {
        [(_, Verdict::Due)] => {}
        _ => return Ok(None),
    }
    note_seen(&mut *tx, &[periodic]).await?;
    let answers = enqueue_in(tx, &[periodic.item()], None).await?;
    Ok(answers.into_iter().find_map(Enqueued::created))
}

/// Records schedules, so that retention and they themselves know them.
async fn note_seen(executor: impl PgExecutor<'_>, periodics: &[&Periodic]) -> sqlx::Result<()> {
    sqlx::query(
        "insert into workhost.schedules (kind, dedup_key)
        select p.kind, p.dedup_key from unnest($1::text[], $2::text[]) as p (kind, dedup_key)
        order by p.kind collate \"C\", p.dedup_key collate \"C\"
        on conflict do nothing",
    )
    .bind(periodics.iter().map(|periodic| periodic.kind.as_str()).collect::<Vec<_>>())
    .bind(periodics.iter().map(|periodic| periodic.key()).collect::<Vec<_>>())
    .execute(executor)
    .await?;
    Ok(())
}

/// What a look finds of a schedule: its place, the database's clock, when it was first seen, and when its newest item was
/// created.
type Found = (i64, OffsetDateTime, Option<OffsetDateTime>, Option<OffsetDateTime>);

/// Judges those that nothing holds back: nothing queued or running with the key, nothing finished within the interval
/// (exactly one interval after finishing is due), nothing paused; and cron schedules that were never seen before.
async fn judge<'p>(
    executor: impl PgExecutor<'_>,
    periodics: &[&'p Periodic],
) -> sqlx::Result<Vec<(&'p Periodic, Verdict)>> {
    let found: Vec<Found> = sqlx::query_as(
        "select p.ord - 1, now(), s.created_at, h.created_at
        from unnest($1::text[], $2::text[], $3::text[], $4::bigint[])
            with ordinality as p (kind, scope, dedup_key, every, ord)
        left join workhost.schedules s on s.kind = p.kind and s.dedup_key = p.dedup_key
        left join lateral (
            -- The newest created. What was created after the newest finished one was finished after that one's creation.
            select greatest(n.created_at, (
                select max(w.created_at) from workhost.work_items w
                where w.kind = p.kind and w.dedup_key = p.dedup_key and w.finished_at >= n.created_at
            )) as created_at
            from workhost.work_items n
            where n.kind = p.kind and n.dedup_key = p.dedup_key and n.finished_at is not null and p.every is null
            order by n.finished_at desc
            limit 1
        ) as h on true
        where (p.every is null and s.kind is null) or (not exists (
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
        ))
        order by p.ord",
    )
    .bind(periodics.iter().map(|periodic| periodic.kind.as_str()).collect::<Vec<_>>())
    .bind(periodics.iter().map(|periodic| periodic.scope.as_deref().unwrap_or_default()).collect::<Vec<_>>())
    .bind(periodics.iter().map(|periodic| periodic.key()).collect::<Vec<_>>())
    .bind(periodics.iter().map(|periodic| periodic.schedule.interval().map(micros)).collect::<Vec<_>>())
    .fetch_all(executor)
    .await?;
    let verdict = |(place, now, first_seen, last_created): Found| {
        let periodic = *periodics.get(usize::try_from(place).ok()?)?;
        Some((periodic, periodic.schedule.judge(&History { now, first_seen, last_created })))
    };
    Ok(found.into_iter().filter_map(verdict).collect())
}
