//! Recording how attempts ended.

use sqlx::{SqliteConnection, SqlitePool};

use super::changes::change;
use super::session::{millis, now, write};
use super::trouble::is_refusal;
use crate::Recorded;
use crate::ending::Ending;

pub(super) async fn finish(writer: &SqlitePool, endings: &[Ending]) -> sqlx::Result<Vec<Recorded>> {
    let mut tx = write(writer).await?;
    let mut answers = Vec::with_capacity(endings.len());
    for ending in endings {
        answers.push(match record(&mut tx, ending).await {
            // A statement that is refused undoes itself alone.
            Err(error) if is_refusal(&error) => {
                tracing::warn!(id = ending.id, attempt = ending.attempt, %error, "a finish was refused by the store");
                Recorded::Busy
            }
            Ok(true) => Recorded::Recorded,
            Ok(false) if recorded_before(&mut tx, ending).await? => Recorded::Recorded,
            Ok(false) => Recorded::Lost,
            Err(error) => return Err(error),
        });
    }
    tx.commit().await?;
    Ok(answers)
}

/// Writes the end of one attempt; answers whether it still held its item.
async fn record(tx: &mut SqliteConnection, ending: &Ending) -> sqlx::Result<bool> {
    let written = sqlx::query(concat!(
        "with held as (
            select w.id, w.kind, w.dedup_key,
                case
                    -- A cancel that was requested is never lost: what its host had not heard, the row has.
                    when ?3 = 'succeeded' then iif(w.cancel_requested_at is null, 'succeeded', 'cancelled')
                    -- An item whose cancel was requested is never queued again; its failure is still a failure.
                    when ?3 = 'released' then iif(w.cancel_requested_at is null, 'queued', 'cancelled')
                    when ?3 = 'retry' then iif(w.cancel_requested_at is null, 'queued', 'failed')
                    else ?3
                end as status
            from work_items w
            where w.id = ?1 and w.attempt = ?2 and w.status = 'running'
        ), placed as materialized (
            -- Of the items of one key, one can be queued.
            select h.id, h.status, h.status = 'queued' and exists (
                select 1 from work_items q
                where q.kind = h.kind and q.dedup_key = h.dedup_key and q.status = 'queued'
            ) as superseded
            from held h
        )
        update work_items
        set status = iif(p.superseded, 'cancelled', p.status),
            reason = iif(p.superseded, 'superseded', reason),
            run_at = iif(?3 = 'retry' and p.status = 'queued' and not p.superseded, ",
        now!(),
        " + ?6, run_at),
            failures = failures + (?3 in ('failed', 'retry')),
            interruptions = interruptions + (?3 = 'released'),
            progress = coalesce(?7, progress),
            result = ?4,
            error = coalesce(?5, error),
            ended_as = ?3,
            lease_expires_at = null,
            updated_at = ",
        now!(),
        ",
            changed = ",
        change!(),
        ",
            finished_at = iif(p.status <> 'queued' or p.superseded, ",
        now!(),
        ", null)
        from placed p
        where work_items.id = p.id"
    ))
    .bind(ending.id)
    .bind(ending.attempt)
    .bind(ending.ended_as)
    .bind(&ending.result)
    .bind(&ending.error)
    .bind(millis(ending.delay_micros))
    .bind(&ending.progress)
    .execute(tx)
    .await?;
    Ok(written.rows_affected() > 0)
}

/// Whether this very end was recorded by an earlier call whose answer was lost.
async fn recorded_before(tx: &mut SqliteConnection, ending: &Ending) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "select exists (
            select 1 from work_items where id = ?1 and attempt = ?2 and status <> 'running' and ended_as = ?3
        )",
    )
    .bind(ending.id)
    .bind(ending.attempt)
    .bind(ending.ended_as)
    .fetch_one(tx)
    .await
}
