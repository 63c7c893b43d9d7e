//! Claims whose answer was lost on the way.

use std::time::Duration;

use super::pool::Pool;
use super::read::{columns, item};
use crate::ending::{micros, number};
use crate::{Claim, Fence, claiming};

/// Extends the leases of what the host holds and does not know of. Rows that somebody has locked are skipped.
pub(super) async fn claimed(pool: &Pool, host: &str, known: &[Fence], lease: Duration) -> sqlx::Result<Vec<Claim>> {
    let rows = sqlx::query(concat!(
        "with held as materialized (
            select w.id from workhost.work_items w
            -- What runs has a lease. Said as the index of the leases says it, and in its order: it is the way there.
            where w.lease_expires_at is not null and w.status = 'running' and w.host = $1
                and (w.id, w.attempt) not in (select k.id, k.attempt from unnest($2::bigint[], $3::integer[]) as k (id, attempt))
            order by w.lease_expires_at, w.id
            for no key update skip locked
        )
        update workhost.work_items w set lease_expires_at = now() + $4 * interval '1 microsecond'
        from held h
        where w.id = h.id
        returning ",
        columns!()
    ))
    .bind(host)
    .bind(known.iter().map(|fence| fence.id.0).collect::<Vec<_>>())
    .bind(known.iter().map(|fence| number(fence.attempt)).collect::<Vec<_>>())
    .bind(micros(lease))
    .fetch_all(pool)
    .await?;
    let mut claims = rows.iter().map(|row| item(row).map(|item| Claim { item })).collect::<sqlx::Result<Vec<_>>>()?;
    claiming::sort(&mut claims);
    Ok(claims)
}
