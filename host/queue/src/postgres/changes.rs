//! Following what changes.
//!
//! Each row holds the number of the transaction that last changed what people see of it. Those numbers are not committed
//! in order. So a reader gets only the changes of transactions older than every one that was open when it looked: all of
//! those have ended, so no further change can appear below that horizon, and its cursor never passes it. The price:
//! a transaction that writes and stays open, anywhere on the server, holds the news back until it ends.

use sqlx::{PgExecutor, Row};

use super::read::{columns, item};
use crate::changes::{Changes, Cursor};

pub(super) async fn changes_since(
    executor: impl PgExecutor<'_>,
    cursor: Option<Cursor>,
    limit: u32,
) -> sqlx::Result<Changes> {
    // One statement, so that the horizon, the items and what retention removed are of one moment.
    let rows = sqlx::query(concat!(
        "with now as materialized (
            select pg_snapshot_xmin(s.snapshot) as horizon, coalesce(
                $1::text::xid8 <= f.through or $1::text::xid8 > pg_snapshot_xmax(s.snapshot), true
            ) as resync
            from (select pg_current_snapshot() as snapshot) as s cross join workhost.forgotten f
        )
        select now.horizon::text as horizon, now.resync, w.changed::text as changed, ",
        columns!(),
        " from now left join lateral (
            select c.* from workhost.work_items c
            where not now.resync and (c.changed, c.id) > ($1::text::xid8, $2) and c.changed < now.horizon
            order by c.changed, c.id
            limit $3
        ) as w on true
        order by w.changed, w.id"
    ))
    .bind(cursor.map(|cursor| cursor.change.to_string()))
    .bind(cursor.map(|cursor| cursor.id))
    .bind(i64::from(limit))
    .fetch_all(executor)
    .await?;
    let first = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    let cursor = Cursor { change: number(first.try_get("horizon")?)?, id: 0 };
    if first.try_get("resync")? {
        return Ok(Changes::Resync { cursor });
    }
    let mut items = Vec::with_capacity(rows.len());
    let mut last = cursor;
    for row in &rows {
        if let Some(changed) = row.try_get("changed")? {
            let item = item(row)?;
            last = Cursor { change: number(changed)?, id: item.id.0 };
            items.push(item);
        }
    }
    // Fewer than were asked for: everything below the horizon is told.
    let cursor = if items.len() < limit as usize { cursor } else { last };
    Ok(Changes::Items { items, cursor })
}

fn number(text: &str) -> sqlx::Result<u64> {
    text.parse().map_err(|error: std::num::ParseIntError| sqlx::Error::Decode(error.into()))
}
