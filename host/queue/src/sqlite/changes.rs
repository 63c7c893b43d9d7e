//! Following what changes. One writer at a time: changes are counted in the order in which they are committed.

use sqlx::{Row, SqlitePool};

use super::read::{columns, item};
use crate::changes::{Changes, Cursor};

/// The number of the change that a statement makes: one more than any before it, also one of an item that is gone.
macro_rules! change {
    () => {
        "(select max(coalesce((select max(c.changed) from work_items c), 0), f.through) + 1 from forgotten f)"
    };
}
pub(super) use change;

pub(super) async fn changes_since(readers: &SqlitePool, cursor: Option<Cursor>, limit: u32) -> sqlx::Result<Changes> {
    let since = cursor.map_or(i64::MAX, |cursor| i64::try_from(cursor.change).unwrap_or(i64::MAX));
    let rows = sqlx::query(concat!(
        "select changed, ",
        columns!(),
        " from work_items where changed > ?1 order by changed limit ?2"
    ))
    .bind(since)
    .bind(limit)
    .fetch_all(readers)
    .await?;
    // Looked at afterwards: what retention removed before or meanwhile is noted here.
    let (through, newest): (i64, i64) = sqlx::query_as(
        "select f.through, max(f.through, coalesce((select max(changed) from work_items), 0)) from forgotten f",
    )
    .fetch_one(readers)
    .await?;
    if since < through || since > newest {
        return Ok(Changes::Resync { cursor: Cursor { change: newest.unsigned_abs(), id: 0 } });
    }
    let last = rows.last().map_or(Ok(since), |row| row.try_get("changed"))?;
    let items = rows.iter().map(item).collect::<sqlx::Result<_>>()?;
    Ok(Changes::Items { items, cursor: Cursor { change: last.unsigned_abs(), id: 0 } })
}
