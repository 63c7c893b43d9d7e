//! Reading items, and the columns of one.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqlitePool};
use time::OffsetDateTime;

use crate::{Count, Filter, ItemId, Json, Status, WorkItem};

/// The columns of an item, as [`item`] reads them.
macro_rules! columns {
    () => {
        "id, kind, payload, dedup_key, scope, priority, run_at, status, attempt, stalls, failures, interruptions, \
         progress, result, error, log_tail, reason, host, handler_digest, parent_id, lease_expires_at, cancel_requested_at, created_at, \
         updated_at, started_at, finished_at"
    };
}
pub(super) use columns;

/// Reads an item from a row with [`columns`].
pub(super) fn item(row: &SqliteRow) -> sqlx::Result<WorkItem> {
    let count = |name: &str| row.try_get::<u32, _>(name);
    let json = |name: &str| row.try_get::<Option<String>, _>(name).map(|text| text.map(Json::stored));
    let maybe = |name: &str| row.try_get::<Option<i64>, _>(name)?.map(moment).transpose();
    Ok(WorkItem {
        id: ItemId(row.try_get("id")?),
        kind: row.try_get("kind")?,
        payload: Json::stored(row.try_get("payload")?),
        dedup_key: row.try_get("dedup_key")?,
        scope: row.try_get("scope")?,
        priority: row.try_get("priority")?,
        run_at: moment(row.try_get("run_at")?)?,
        status: status(row)?,
        attempt: count("attempt")?,
        stalls: count("stalls")?,
        failures: count("failures")?,
        interruptions: count("interruptions")?,
        progress: json("progress")?,
        result: json("result")?,
        error: row.try_get("error")?,
        log_tail: row.try_get("log_tail")?,
        reason: row.try_get("reason")?,
        host: row.try_get("host")?,
        handler_digest: row.try_get("handler_digest")?,
        parent_id: row.try_get::<Option<i64>, _>("parent_id")?.map(ItemId),
        lease_expires_at: maybe("lease_expires_at")?,
        cancel_requested_at: maybe("cancel_requested_at")?,
        created_at: moment(row.try_get("created_at")?)?,
        updated_at: moment(row.try_get("updated_at")?)?,
        started_at: maybe("started_at")?,
        finished_at: maybe("finished_at")?,
    })
}

/// Reads the column `status`.
pub(super) fn status(row: &SqliteRow) -> sqlx::Result<Status> {
    let word: &str = row.try_get("status")?;
    word.parse().map_err(|error: String| sqlx::Error::Decode(error.into()))
}

/// A time from the milliseconds that the file holds.
pub(super) fn moment(millis: i64) -> sqlx::Result<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000)
        .map_err(|error| sqlx::Error::Decode(error.into()))
}

pub(super) async fn get(readers: &SqlitePool, id: ItemId) -> sqlx::Result<Option<WorkItem>> {
    let row = sqlx::query(concat!("select ", columns!(), " from work_items where id = ?1"))
        .bind(id.0)
        .fetch_optional(readers)
        .await?;
    row.as_ref().map(item).transpose()
}

pub(super) async fn list(readers: &SqlitePool, filter: &Filter, most: u32) -> sqlx::Result<Vec<WorkItem>> {
    let statuses: Vec<&str> = filter.statuses.iter().map(|status| status.as_str()).collect();
    let rows = sqlx::query(concat!(
        "select ",
        columns!(),
        " from work_items
        where (json_array_length(?1) = 0 or status in (select value from json_each(?1)))
            and (?2 is null or kind = ?2)
            and (?3 is null or scope = ?3)
            and (?4 is null or id < ?4)
        order by id desc
        limit ?5"
    ))
    .bind(serde_json::Value::from(statuses).to_string())
    .bind(&filter.kind)
    .bind(&filter.scope)
    .bind(filter.before.map(|id| id.0))
    .bind(filter.page(most))
    .fetch_all(readers)
    .await?;
    rows.iter().map(item).collect()
}

pub(super) async fn counts(readers: &SqlitePool) -> sqlx::Result<Vec<Count>> {
    let rows =
        sqlx::query("select kind, status, count(*) as count from work_items group by kind, status order by 1, 2")
            .fetch_all(readers)
            .await?;
    rows.iter()
        .map(|row| {
            let count: i64 = row.try_get("count")?;
            Ok(Count { kind: row.try_get("kind")?, status: status(row)?, count: count.cast_unsigned() })
        })
        .collect()
}
