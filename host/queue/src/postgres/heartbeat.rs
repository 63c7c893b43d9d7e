//! Signs of life.

use std::time::Duration;

use sqlx::PgExecutor;
use tokio::time::Instant;

use super::pool::{Pool, Session};
use super::session::left;
use super::trouble::is_refusal;
use crate::ending::{micros, number};
use crate::{Beat, Limits, Pulse};

/// How long heartbeats of locked rows are tried, in all: less than one heartbeat interval.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// A beat as it is stored.
pub(super) struct Sign {
    id: i64,
    attempt: i32,
    progress: Option<String>,
}

impl Sign {
    pub(super) fn new(beat: &Beat, limits: &Limits) -> Sign {
        let progress = beat.progress.as_ref().and_then(|progress| limits.progress(progress));
        Sign {
            id: beat.fence.id.0,
            attempt: number(beat.fence.attempt),
            progress: progress.map(|json| json.as_str().to_owned()),
        }
    }
}

pub(super) async fn heartbeat(pool: &Pool, signs: &[Sign], lease: Duration) -> sqlx::Result<Vec<Pulse>> {
    let deadline = Instant::now() + PATIENCE;
    let mut pulses = match beat(pool, signs, lease).await {
        Ok(pulses) => pulses,
        // One of the rows cannot be written now. Each is tried alone, so that it harms no other.
        Err(error) if is_refusal(&error) => vec![Pulse::Busy; signs.len()],
        Err(error) => return Err(error),
    };
    for (sign, pulse) in signs.iter().zip(&mut pulses) {
        if *pulse == Pulse::Busy && left(deadline).is_some() {
            *pulse = beat_alone(pool, sign, lease).await?;
        }
    }
    Ok(pulses)
}

/// Waits a little for the row that somebody has locked.
async fn beat_alone(pool: &Pool, sign: &Sign, lease: Duration) -> sqlx::Result<Pulse> {
    match try_alone(pool, sign, lease).await {
        Err(error) if is_refusal(&error) => {
            tracing::debug!(id = sign.id, attempt = sign.attempt, %error, "a heartbeat was refused by the store");
            Ok(Pulse::Busy)
        }
        pulse => pulse,
    }
}

async fn try_alone(pool: &Pool, sign: &Sign, lease: Duration) -> sqlx::Result<Pulse> {
    let mut tx = pool.begin().await?;
    let pulses = async {
        lock(&mut tx, sign.id).await?;
        beat(&mut *tx, std::slice::from_ref(sign), lease).await
    };
    let pulses = pulses.await;
    Ok(tx.settle(pulses).await?.into_iter().next().unwrap_or(Pulse::Lost))
}

/// Locks one row for the rest of the transaction, as soon as it is free.
pub(super) async fn lock(tx: &mut Session, id: i64) -> sqlx::Result<()> {
    sqlx::query("select from workhost.work_items where id = $1 for no key update").bind(id).execute(tx).await?;
    Ok(())
}

/// One statement for all. Rows that somebody has locked are skipped and answered `Busy`.
async fn beat(executor: impl PgExecutor<'_>, signs: &[Sign], lease: Duration) -> sqlx::Result<Vec<Pulse>> {
    let answers: Vec<String> = sqlx::query_scalar(
        "with beat as materialized (
            select b.* from unnest($1::bigint[], $2::integer[], $3::text[]) with ordinality
                as b (id, attempt, progress, ord)
        ), locked as materialized (
            -- The status is looked at afterwards, so that the way to a row is always its id.
            select w.id, w.attempt, w.status from workhost.work_items w
            where w.id = any($1)
            order by w.id
            for no key update skip locked
        ), alive as (
            update workhost.work_items w
            set lease_expires_at = now() + $4 * interval '1 microsecond',
                progress = coalesce(b.progress::json, w.progress),
                -- Only what people see moves it.
                updated_at = case
                    when b.progress is null or b.progress is not distinct from w.progress::text then w.updated_at
                    else now()
                end,
                changed = case
                    when b.progress is null or b.progress is not distinct from w.progress::text then w.changed
                    else pg_current_xact_id()
                end
            from locked l join beat b on b.id = l.id and b.attempt = l.attempt
            where w.id = l.id and l.status = 'running'
            returning w.id, w.attempt, w.cancel_requested_at is not null as cancel_requested
        )
        select case
            when a.cancel_requested then 'cancel requested'
            when a.id is not null then 'alive'
            when l.id is null and exists (select from workhost.work_items w where w.id = b.id) then 'busy'
            else 'lost'
        end
        from beat b left join locked l on l.id = b.id left join alive a on a.id = b.id and a.attempt = b.attempt
        order by b.ord",
    )
    .bind(signs.iter().map(|sign| sign.id).collect::<Vec<_>>())
    .bind(signs.iter().map(|sign| sign.attempt).collect::<Vec<_>>())
    .bind(signs.iter().map(|sign| sign.progress.as_deref()).collect::<Vec<_>>())
    .bind(micros(lease))
    .fetch_all(executor)
    .await?;
    Ok(answers
        .iter()
        .map(|answer| match answer.as_str() {
            "alive" => Pulse::Alive,
            "cancel requested" => Pulse::CancelRequested,
            "busy" => Pulse::Busy,
            _ => Pulse::Lost,
        })
        .collect())
}
