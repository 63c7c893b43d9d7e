//! Ending attempts whose lease ran out.

use sqlx::{PgExecutor, Row};

use super::pool::Pool;
use super::read::status;
use super::trouble::{is_refusal, is_unique_violation};
use crate::ending::number;
use crate::{ItemId, Recovered};

/// How often one row is tried against racing enqueues and releases of its key.
const TRIES: u32 = 5;

/// How many rows are looked at for each that may be moved, when rows must be tried one by one.
const TRIES_PER_ITEM: i64 = 10;

pub(super) async fn recover_expired(pool: &Pool, max_stalls: u32, limit: u32) -> sqlx::Result<Vec<Recovered>> {
    match recover(pool, max_stalls, i64::from(limit), None).await {
        // One of the rows cannot be moved now. Each is tried alone, so that it keeps no other from moving.
        Err(error) if is_refusal(&error) => recover_one_by_one(pool, max_stalls, limit).await,
        recovered => recovered,
    }
}

async fn recover_one_by_one(pool: &Pool, max_stalls: u32, limit: u32) -> sqlx::Result<Vec<Recovered>> {
    let ids: Vec<i64> = sqlx::query_scalar(
        "select w.id from workhost.work_items w where w.status = 'running' and w.lease_expires_at < now()
        order by w.lease_expires_at, w.id
        limit $1",
    )
    .bind(i64::from(limit) * TRIES_PER_ITEM)
    .fetch_all(pool)
    .await?;
    let mut recovered = Vec::new();
    for id in ids {
        if recovered.len() >= limit as usize {
            break;
        }
        match recover_alone(pool, max_stalls, id).await {
            Ok(moved) => recovered.extend(moved),
            Err(error) if is_refusal(&error) => {
                tracing::warn!(id, %error, "an item whose lease ran out could not be moved; the next sweep tries again");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(recovered)
}

/// Tries one row again while others of its key come first: the next try sees theirs.
async fn recover_alone(pool: &Pool, max_stalls: u32, id: i64) -> sqlx::Result<Vec<Recovered>> {
    for _ in 0..TRIES {
        let mut tx = pool.begin().await?;
        let recovered = recover(&mut *tx, max_stalls, 1, Some(id)).await;
        // Settled, so that the next try finds the row free of this one's lock.
        match tx.settle(recovered).await {
            Err(error) if is_unique_violation(&error) => {}
            answer => return answer,
        }
    }
    Ok(Vec::new())
}

/// One statement for all, or for one. Rows that somebody has locked are left for the next sweep.
async fn recover(
    executor: impl PgExecutor<'_>,
    max_stalls: u32,
    limit: i64,
    only: Option<i64>,
) -> sqlx::Result<Vec<Recovered>> {
    let rows = sqlx::query(
        "with expired as materialized (
            select w.id, w.kind, w.dedup_key, w.stalls + 1 as stalls,
                case
                    when w.cancel_requested_at is not null then 'cancelled'
                    when w.stalls + 1 >= $1 then 'failed'
                    else 'queued'
                end as status
            from workhost.work_items w
            where w.status = 'running' and w.lease_expires_at < now() and ($3::bigint is null or w.id = $3)
            order by w.lease_expires_at, w.id
            limit $2
            for no key update skip locked
        ), placed as (
            -- Of the items of one key, one can be queued: the one that is already, or the first of these.
            select e.*, e.status = 'queued' and e.dedup_key is not null and (
                row_number() over (partition by e.status, e.kind, e.dedup_key order by e.id) > 1
                or exists (
                    select from workhost.work_items q
                    where q.kind = e.kind and q.dedup_key = e.dedup_key and q.status = 'queued'
                )
            ) as superseded
            from expired e
        )
        update workhost.work_items w
        set status = case when p.superseded then 'cancelled' else p.status end,
            stalls = p.stalls,
            reason = case when p.superseded then 'superseded' when p.status = 'failed' then 'stalled' else w.reason end,
            error = case
                when p.status = 'failed'
                then format('attempt %s stalled: its host did not answer until the lease ran out, as happened %s times', w.attempt, p.stalls)
                else w.error
            end,
            ended_as = 'stalled',
            lease_expires_at = null,
            updated_at = now(),
            changed = pg_current_xact_id(),
            finished_at = case when p.status <> 'queued' or p.superseded then now() end
        from placed p
        where w.id = p.id
        returning w.id, w.status, w.stalls",
    )
    .bind(number(max_stalls))
    .bind(limit)
    .bind(only)
    .fetch_all(executor)
    .await?;
    rows.iter()
        .map(|row| {
            let stalls: i32 = row.try_get("stalls")?;
            Ok(Recovered { id: ItemId(row.try_get("id")?), status: status(row)?, stalls: stalls.cast_unsigned() })
        })
        .collect()
}
