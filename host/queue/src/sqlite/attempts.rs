//! Reading the attempts of an item. The schema's trigger writes them.

use sqlx::{Row, SqlitePool};

use super::read::moment;
use crate::{AttemptRecord, ItemId};

pub(super) async fn attempts(readers: &SqlitePool, id: ItemId) -> sqlx::Result<Vec<AttemptRecord>> {
    let rows = sqlx::query(
        "select attempt, host, handler_digest, started_at, ended_at, outcome, error, log_tail
        from attempts
        where item_id = ?1
        order by attempt desc",
    )
    .bind(id.0)
    .fetch_all(readers)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(AttemptRecord {
                attempt: row.try_get("attempt")?,
                host: row.try_get("host")?,
                handler_digest: row.try_get("handler_digest")?,
                started_at: moment(row.try_get("started_at")?)?,
                ended_at: moment(row.try_get("ended_at")?)?,
                outcome: row.try_get("outcome")?,
                error: row.try_get("error")?,
                log_tail: row.try_get("log_tail")?,
            })
        })
        .collect()
}
