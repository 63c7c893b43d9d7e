//! Reading items, and the columns of one.

use sqlx::Row;
use sqlx::postgres::PgRow;

use super::pool::Pool;
use crate::{Count, Filter, ItemId, Json, Status, WorkItem};

/// The columns of an item, of the table under the alias `w`, as [`item`] reads them.
macro_rules! columns {
    () => {
        "w.id, w.kind, w.payload::text as payload, w.dedup_key, w.scope, w.priority, w.run_at, w.status, w.attempt, \
         w.stalls, w.failures, w.interruptions, w.progress::text as progress, w.result::text as result, w.error, w.log_tail, w.reason, \
         w.host, w.handler_digest, w.parent_id, w.lease_expires_at, w.cancel_requested_at, w.created_at, w.updated_at, w.started_at, \
         w.finished_at"
    };
}
pub(super) use columns;

/// Reads an item from a row with [`columns`].
pub(super) fn item(row: &PgRow) -> sqlx::Result<WorkItem> {
    let count = |name: &str| row.try_get::<i32, _>(name).map(i32::cast_unsigned);
    let json = |name: &str| row.try_get::<Option<String>, _>(name).map(|text| text.map(Json::stored));
    Ok(WorkItem {
        id: ItemId(row.try_get("id")?),
        kind: row.try_get("kind")?,
        payload: Json::stored(row.try_get("payload")?),
        dedup_key: row.try_get("dedup_key")?,
        scope: row.try_get("scope")?,
        priority: row.try_get("priority")?,
        run_at: row.try_get("run_at")?,
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
        lease_expires_at: row.try_get("lease_expires_at")?,
        cancel_requested_at: row.try_get("cancel_requested_at")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
        started_at: row.try_get("started_at")?,
        finished_at: row.try_get("finished_at")?,
    })
}

/// Reads the column `status`.
pub(super) fn status(row: &PgRow) -> sqlx::Result<Status> {
    let word: &str = row.try_get("status")?;
    word.parse().map_err(|error: String| sqlx::Error::Decode(error.into()))
}

pub(super) async fn get(pool: &Pool, id: ItemId) -> sqlx::Result<Option<WorkItem>> {
    let row = sqlx::query(concat!("select ", columns!(), " from workhost.work_items w where w.id = $1"))
        .bind(id.0)
        .fetch_optional(pool)
        .await?;
    row.as_ref().map(item).transpose()
}

pub(super) async fn list(pool: &Pool, filter: &Filter, most: u32) -> sqlx::Result<Vec<WorkItem>> {
    let statuses: Vec<&str> = filter.statuses.iter().map(|status| status.as_str()).collect();
    let rows = sqlx::query(concat!(
        "select ",
        columns!(),
        " from workhost.work_items w
        where (cardinality($1::text[]) = 0 or w.status = any($1))
            and ($2::text is null or w.kind = $2)
            and ($3::text is null or w.scope = $3)
            and ($4::bigint is null or w.id < $4)
        order by w.id desc
        limit $5"
    ))
    .bind(statuses)
    .bind(&filter.kind)
    .bind(&filter.scope)
    .bind(filter.before.map(|id| id.0))
    .bind(i64::from(filter.page(most)))
    .fetch_all(pool)
    .await?;
    rows.iter().map(item).collect()
}

pub(super) async fn counts(pool: &Pool) -> sqlx::Result<Vec<Count>> {
    let rows = sqlx::query(
        "select w.kind, w.status, count(*) as count from workhost.work_items w group by w.kind, w.status order by 1, 2",
    )
    .fetch_all(pool)
    .await?;
    rows.iter()
        .map(|row| {
            let count: i64 = row.try_get("count")?;
            Ok(Count { kind: row.try_get("kind")?, status: status(row)?, count: count.cast_unsigned() })
        })
        .collect()
}
