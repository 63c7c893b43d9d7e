//! Reading the attempts of an item. The schema's trigger writes them.

use sqlx::Row;

use super::pool::Pool;
use crate::{AttemptRecord, ItemId};

pub(super) async fn attempts(pool: &Pool, id: ItemId) -> sqlx::Result<Vec<AttemptRecord>> {
    let rows = sqlx::query(
        "select a.attempt, a.host, a.handler_digest, a.started_at, a.ended_at, a.outcome, a.error, a.log_tail
        from workhost.attempts a
        where a.item_id = $1
        order by a.attempt desc",
    )
    .bind(id.0)
    .fetch_all(pool)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(AttemptRecord {
                attempt: row.try_get::<i32, _>("attempt")?.cast_unsigned(),
                host: row.try_get("host")?,
                handler_digest: row.try_get("handler_digest")?,
                started_at: row.try_get("started_at")?,
                ended_at: row.try_get("ended_at")?,
                outcome: row.try_get("outcome")?,
                error: row.try_get("error")?,
                log_tail: row.try_get("log_tail")?,
            })
        })
        .collect()
}
