//! Recording how attempts ended.

use sqlx::PgExecutor;
use tokio::time::Instant;

use super::heartbeat::{PATIENCE, lock};
use super::pool::Pool;
use super::session::left;
use super::trouble::{is_conflict, is_refusal, is_unique_violation};
use crate::Recorded;
use crate::ending::Ending;

/// How often one row is tried against racing enqueues of its key.
const TRIES: u32 = 5;

pub(super) async fn finish(pool: &Pool, endings: &[Ending]) -> sqlx::Result<Vec<Recorded>> {
    let deadline = Instant::now() + PATIENCE;
    let mut answers = match record(pool, endings).await {
        Ok(answers) => answers,
        // One of the rows cannot be written now. Each is tried alone, so that it harms no other.
        Err(error) if is_refusal(&error) => vec![Recorded::Busy; endings.len()],
        Err(error) => return Err(error),
    };
    for (ending, answer) in endings.iter().zip(&mut answers) {
        if *answer == Recorded::Busy && left(deadline).is_some() {
            *answer = record_alone(pool, ending).await?;
        }
    }
    Ok(answers)
}

/// Waits a little for a row that somebody has locked, or for an enqueue of the same key.
async fn record_alone(pool: &Pool, ending: &Ending) -> sqlx::Result<Recorded> {
    for _ in 0..TRIES {
        match try_alone(pool, ending).await {
            // An enqueue of the same key came first. The next try sees its item.
            Err(error) if is_unique_violation(&error) => {}
            Err(error) if is_conflict(&error) => return Ok(Recorded::Busy),
            Err(error) if is_refusal(&error) => {
                tracing::warn!(id = ending.id, attempt = ending.attempt, %error, "a finish was refused by the store");
                return Ok(Recorded::Busy);
            }
            answer => return answer,
        }
    }
    Ok(Recorded::Busy)
}

async fn try_alone(pool: &Pool, ending: &Ending) -> sqlx::Result<Recorded> {
    let mut tx = pool.begin().await?;
    let answers = async {
        lock(&mut tx, ending.id).await?;
        record(&mut *tx, std::slice::from_ref(ending)).await
    };
    let answers = answers.await;
    Ok(tx.settle(answers).await?.into_iter().next().unwrap_or(Recorded::Lost))
}

/// One statement for all. Rows that somebody has locked are skipped and answered `Busy`.
async fn record(executor: impl PgExecutor<'_>, endings: &[Ending]) -> sqlx::Result<Vec<Recorded>> {
    let answers: Vec<String> = sqlx::query_scalar(
        "with ending as materialized (
            select e.* from unnest($1::bigint[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[])
                with ordinality as e (id, attempt, ended_as, result, error, delay, progress, log_tail, ord)
        ), locked as materialized (
            -- The status is looked at afterwards, so that the way to a row is always its id.
            select w.id, w.attempt, w.status, w.ended_as, w.kind, w.dedup_key, w.cancel_requested_at
            from workhost.work_items w
            where w.id = any($1)
            order by w.id
            for no key update skip locked
        ), held as (
            select e.*, l.kind, l.dedup_key,
                case
                    -- A cancel that was requested is never lost: what its host had not heard, the row has.
                    when e.ended_as = 'succeeded' and l.cancel_requested_at is not null then 'cancelled'
                    -- An item whose cancel was requested is never queued again; its failure is still a failure.
                    when e.ended_as = 'released' then case when l.cancel_requested_at is null then 'queued' else 'cancelled' end
                    when e.ended_as = 'retry' then case when l.cancel_requested_at is null then 'queued' else 'failed' end
                    else e.ended_as
                end as status
            from ending e join locked l on l.id = e.id and l.attempt = e.attempt
            where l.status = 'running'
        ), placed as (
            -- Of the items of one key, one can be queued: the one that is already, or the first of these.
            select h.*, h.status = 'queued' and h.dedup_key is not null and (
                row_number() over (partition by h.status, h.kind, h.dedup_key order by h.id) > 1
                or exists (
                    select from workhost.work_items q
                    where q.kind = h.kind and q.dedup_key = h.dedup_key and q.status = 'queued'
                )
            ) as superseded
            from held h
        ), written as (
            update workhost.work_items w
            set status = case when p.superseded then 'cancelled' else p.status end,
                reason = case when p.superseded then 'superseded' else w.reason end,
                run_at = case
                    when p.ended_as = 'retry' and p.status = 'queued' and not p.superseded
                    then now() + p.delay * interval '1 microsecond'
                    else w.run_at
                end,
                failures = w.failures + (p.ended_as in ('failed', 'retry'))::integer,
                interruptions = w.interruptions + (p.ended_as = 'released')::integer,
                progress = coalesce(p.progress::json, w.progress),
                result = p.result::json,
                error = coalesce(p.error, w.error),
                log_tail = p.log_tail,
                ended_as = p.ended_as,
                lease_expires_at = null,
                updated_at = now(),
                changed = pg_current_xact_id(),
                finished_at = case when p.status <> 'queued' or p.superseded then now() end
            from placed p
            where w.id = p.id
            returning w.id, w.attempt
        )
        select case
            when d.id is not null then 'recorded'
            when l.id is null and exists (select from workhost.work_items w where w.id = e.id) then 'busy'
            -- Recorded before, by a call whose answer was lost.
            when l.attempt = e.attempt and l.status <> 'running' and l.ended_as = e.ended_as then 'recorded'
            else 'lost'
        end
        from ending e left join locked l on l.id = e.id left join written d on d.id = e.id and d.attempt = e.attempt
        order by e.ord",
    )
    .bind(endings.iter().map(|ending| ending.id).collect::<Vec<_>>())
    .bind(endings.iter().map(|ending| ending.attempt).collect::<Vec<_>>())
    .bind(endings.iter().map(|ending| ending.ended_as).collect::<Vec<_>>())
    .bind(endings.iter().map(|ending| ending.result.as_deref()).collect::<Vec<_>>())
    .bind(endings.iter().map(|ending| ending.error.as_deref()).collect::<Vec<_>>())
    .bind(endings.iter().map(|ending| ending.delay_micros).collect::<Vec<_>>())
    .bind(endings.iter().map(|ending| ending.progress.as_deref()).collect::<Vec<_>>())
    .bind(endings.iter().map(|ending| ending.log_tail.as_deref()).collect::<Vec<_>>())
    .fetch_all(executor)
    .await?;
    Ok(answers
        .iter()
        .map(|answer| match answer.as_str() {
            "recorded" => Recorded::Recorded,
            "busy" => Recorded::Busy,
            _ => Recorded::Lost,
        })
        .collect())
}
