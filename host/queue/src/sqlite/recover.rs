//! Ending attempts whose lease ran out.

use std::collections::HashSet;

use sqlx::{Row, SqliteConnection, SqlitePool};

use super::changes::change;
use super::live::Live;
use super::read::status;
use super::session::{now, write};
use super::trouble::is_refusal;
use crate::ending::number;
use crate::{Fence, ItemId, Recovered};

/// How many rows are looked at for each that may be moved, for those that cannot be.
const TRIES_PER_ITEM: i64 = 10;

pub(super) async fn recover_expired(
    writer: &SqlitePool,
    live: &Live,
    max_stalls: u32,
    limit: u32,
) -> sqlx::Result<Vec<Recovered>> {
    let mut tx = write(writer).await?;
    let live: HashSet<Fence> = live.now().into_iter().collect();
    let mut recovered = Vec::new();
    let most = i64::from(limit) * TRIES_PER_ITEM + i64::try_from(live.len()).unwrap_or(0);
    for fence in expired(&mut tx, most).await? {
        if recovered.len() >= limit as usize {
            break;
        }
        if live.contains(&fence) {
            continue;
        }
        match recover(&mut tx, fence, max_stalls).await {
            Ok(moved) => recovered.push(moved),
            // A statement that is refused undoes itself alone.
            Err(error) if is_refusal(&error) => {
                tracing::warn!(id = fence.id.0, %error, "an item whose lease ran out could not be moved; the next sweep tries again");
            }
            Err(error) => return Err(error),
        }
    }
    tx.commit().await?;
    Ok(recovered)
}

async fn expired(tx: &mut SqliteConnection, most: i64) -> sqlx::Result<Vec<Fence>> {
    let rows: Vec<(i64, u32)> = sqlx::query_as(concat!(
        "select id, attempt from work_items where status = 'running' and lease_expires_at < ",
        now!(),
        " order by lease_expires_at, id
        limit ?1"
    ))
    .bind(most)
    .fetch_all(tx)
    .await?;
    Ok(rows.into_iter().map(|(id, attempt)| Fence { id: ItemId(id), attempt }).collect())
}

/// Moves one item. The transaction holds the write lock, so it is as it was found.
async fn recover(tx: &mut SqliteConnection, fence: Fence, max_stalls: u32) -> sqlx::Result<Recovered> {
    let row = sqlx::query(concat!(
        "with expired as (
            select w.id, w.kind, w.dedup_key,
                case
                    when w.cancel_requested_at is not null then 'cancelled'
                    when w.stalls + 1 >= ?2 then 'failed'
                    else 'queued'
                end as status
            from work_items w
            where w.id = ?1
        ), placed as materialized (
            -- Of the items of one key, one can be queued.
            select e.id, e.status, e.status = 'queued' and exists (
                select 1 from work_items q
                where q.kind = e.kind and q.dedup_key = e.dedup_key and q.status = 'queued'
            ) as superseded
            from expired e
        )
        update work_items
        set status = iif(p.superseded, 'cancelled', p.status),
            stalls = stalls + 1,
            reason = case when p.superseded then 'superseded' when p.status = 'failed' then 'stalled' else reason end,
            error = iif(
                p.status = 'failed',
                printf('attempt %d stalled: its host did not answer until the lease ran out, as happened %d times', attempt, stalls + 1),
                error
            ),
            ended_as = 'stalled',
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
        where work_items.id = p.id
        returning status, stalls"
    ))
    .bind(fence.id.0)
    .bind(number(max_stalls))
    .fetch_one(tx)
    .await?;
    Ok(Recovered { id: fence.id, status: status(&row)?, stalls: row.try_get("stalls")? })
}
