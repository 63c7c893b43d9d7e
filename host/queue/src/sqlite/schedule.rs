//! Enqueueing what is due again.

use sqlx::{SqliteConnection, SqlitePool};

use super::enqueue::enqueue_in;
use super::read::moment;
use super::session::{millis, now, write};
use crate::ending::micros;
use crate::schedule::{History, Verdict};
use crate::{Enqueued, ItemId, Periodic};

pub(super) async fn enqueue_due(
    readers: &SqlitePool,
    writer: &SqlitePool,
    periodics: &[&Periodic],
) -> sqlx::Result<Vec<ItemId>> {
    let mut ids = Vec::new();
    for periodic in periodics {
        // At most polls nothing is due, so a look without the write lock comes first.
        if judge(&mut *readers.acquire().await?, periodic).await? != Verdict::Wait {
            ids.extend(carry_out(writer, periodic).await?);
        }
    }
    Ok(ids)
}

/// Does what is to be done about a schedule, unless another process just did.
async fn carry_out(writer: &SqlitePool, periodic: &Periodic) -> sqlx::Result<Option<ItemId>> {
    let mut tx = write(writer).await?;
    let verdict = judge(&mut tx, periodic).await?;
    if verdict == Verdict::Wait {
        return Ok(None);
    }
    note_seen(&mut tx, periodic).await?;
    let answer = match verdict {
        Verdict::Due => enqueue_in(&mut tx, &[periodic.item()], None).await?.into_iter().find_map(Enqueued::created),
        Verdict::FirstSeen | Verdict::Wait => None,
    };
    tx.commit().await?;
    Ok(answer)
}

/// Records a schedule, so that retention and it itself know it.
async fn note_seen(tx: &mut SqliteConnection, periodic: &Periodic) -> sqlx::Result<()> {
    sqlx::query(concat!(
        "insert into schedules (kind, dedup_key, created_at) values (?1, ?2, ",
        now!(),
        ") on conflict do nothing"
    ))
    .bind(&periodic.kind)
    .bind(periodic.key())
    .execute(tx)
    .await?;
    Ok(())
}

/// Judges it, if nothing holds it back: nothing queued or running with the key, nothing finished within the interval
/// (exactly one interval after finishing is due), nothing paused; or if it is a cron schedule never seen before.
async fn judge(connection: &mut SqliteConnection, periodic: &Periodic) -> sqlx::Result<Verdict> {
    let found: Option<(i64, Option<i64>, Option<i64>)> = sqlx::query_as(concat!(
        "select ",
        now!(),
        ", s.created_at, (
            -- The newest created. What was created after the newest finished one was finished after that one's creation.
            select max(n.created_at, coalesce((
                select max(w.created_at) from work_items w
                where w.kind = ?1 and w.dedup_key = ?2 and w.finished_at >= n.created_at
            ), 0))
            from work_items n
            where n.kind = ?1 and n.dedup_key = ?2 and n.finished_at is not null and ?3 is null
            order by n.finished_at desc
            limit 1
        )
        from (select 1) left join schedules s on s.kind = ?1 and s.dedup_key = ?2
        where (?3 is null and s.kind is null) or (not exists (
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
        ))"
    ))
    .bind(&periodic.kind)
    .bind(periodic.key())
    .bind(periodic.schedule.interval().map(|interval| millis(micros(interval))))
    .bind(periodic.scope.as_deref().unwrap_or_default())
    .fetch_optional(connection)
    .await?;
    let Some((now, first_seen, last_created)) = found else { return Ok(Verdict::Wait) };
    let history = History {
        now: moment(now)?,
        first_seen: first_seen.map(moment).transpose()?,
        last_created: last_created.map(moment).transpose()?,
    };
    Ok(periodic.schedule.judge(&history))
}
