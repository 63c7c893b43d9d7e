//! Deleting what finished long ago.

use std::time::Duration;

use sqlx::SqlitePool;

use super::fence;
use super::session::{millis, now, write};
use crate::Fence;
use crate::ending::micros;

pub(super) async fn delete_finished(
    writer: &SqlitePool,
    fence: Option<Fence>,
    older_than: Duration,
    limit: u32,
) -> sqlx::Result<Option<u64>> {
    let mut tx = write(writer).await?;
    if let Some(fence) = fence
        && !fence::hold(&mut tx, fence).await?
    {
        return Ok(None);
    }
    let deleted = sqlx::query(concat!(
        "delete from work_items
        where id in (
            select f.id from work_items f
            where f.finished_at < ",
        now!(),
        " - ?1
                -- The newest of a schedule's key, by when it finished or by when it was created, says when the
                -- schedule is due again. An item is neither once another one is newer in both.
                and not exists (
                    select 1 from schedules s
                    where s.kind = f.kind and s.dedup_key = f.dedup_key and not exists (
                        select 1 from work_items n
                        where n.kind = f.kind and n.dedup_key = f.dedup_key and n.finished_at >= f.finished_at
                            and n.created_at >= f.created_at
                            and (n.finished_at, n.created_at, n.id) > (f.finished_at, f.created_at, f.id)
                    )
                )
            order by f.finished_at, f.id
            limit ?2
        )"
    ))
    .bind(millis(micros(older_than)))
    .bind(limit)
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(Some(deleted.rows_affected()))
}
