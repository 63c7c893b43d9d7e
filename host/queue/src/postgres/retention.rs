//! Deleting what finished long ago.

use std::time::Duration;

use super::fence;
use super::pool::{Pool, Session};
use super::session::patient;
use crate::Fence;
use crate::ending::micros;

pub(super) async fn delete_finished(
    pool: &Pool,
    fence: Option<Fence>,
    older_than: Duration,
    limit: u32,
) -> sqlx::Result<Option<u64>> {
    let mut tx = patient(pool).await?;
    let deleted = delete_in(&mut tx, fence, older_than, limit).await;
    tx.settle(deleted).await
}

async fn delete_in(
    tx: &mut Session,
    fence: Option<Fence>,
    older_than: Duration,
    limit: u32,
) -> sqlx::Result<Option<u64>> {
    if let Some(fence) = fence
        && !fence::hold(tx, fence).await?
    {
        return Ok(None);
    }
    let deleted = sqlx::query(
        "with old as materialized (
            select f.id from workhost.work_items f
            where f.finished_at < now() - $1 * interval '1 microsecond'
                -- The newest of a schedule's key, by when it finished or by when it was created, says when the
                -- schedule is due again. An item is neither once another one is newer in both.
                and not exists (
                    select from workhost.schedules s
                    where s.kind = f.kind and s.dedup_key = f.dedup_key and not exists (
                        select from workhost.work_items n
                        where n.kind = f.kind and n.dedup_key = f.dedup_key and n.finished_at >= f.finished_at
                            and n.created_at >= f.created_at
                            and (n.finished_at, n.created_at, n.id) > (f.finished_at, f.created_at, f.id)
                    )
                )
            order by f.finished_at, f.id
            limit $2
            for update of f skip locked
        )
        -- Not `in (… limit …)`, which a plan may answer anew for each row, and so past the limit.
        delete from workhost.work_items w using old where w.id = old.id",
    )
    .bind(micros(older_than))
    .bind(i64::from(limit))
    .execute(tx)
    .await?;
    Ok(Some(deleted.rows_affected()))
}
