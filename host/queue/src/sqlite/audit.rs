//! What people did.

use sqlx::{Row, SqliteConnection, SqlitePool};

use super::read::moment;
use super::session::{millis, now};
use crate::audit::AUDIT_SWEEP;
use crate::ending::micros;
use crate::{AUDIT_KEPT, AuditEntry, AuditPage, Deed, ItemId};

/// Records a deed, in the transaction that does it, and forgets some that are outdated.
pub(super) async fn record(tx: &mut SqliteConnection, deed: &Deed) -> sqlx::Result<()> {
    sqlx::query(concat!(
        "delete from audit where id in (select id from audit where at < ",
        now!(),
        " - ?1 order by at, id limit ?2)"
    ))
    .bind(millis(micros(AUDIT_KEPT)))
    .bind(AUDIT_SWEEP)
    .execute(&mut *tx)
    .await?;
    sqlx::query(concat!(
        "insert into audit (at, actor, action, target, item_id) values (",
        now!(),
        ", ?1, ?2, ?3, ?4)"
    ))
    .bind(&deed.actor)
    .bind(&deed.action)
    .bind(&deed.target)
    .bind(deed.item.map(|id| id.0))
    .execute(tx)
    .await?;
    Ok(())
}

pub(super) async fn page(readers: &SqlitePool, page: &AuditPage, limit: u32) -> sqlx::Result<Vec<AuditEntry>> {
    let rows = sqlx::query(
        "select id, at, actor, action, target, item_id from audit
        where (?1 is null or item_id = ?1) and (?2 is null or id < ?2)
        order by id desc
        limit ?3",
    )
    .bind(page.item.map(|id| id.0))
    .bind(page.before)
    .bind(limit)
    .fetch_all(readers)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(AuditEntry {
                id: row.try_get("id")?,
                at: moment(row.try_get("at")?)?,
                actor: row.try_get("actor")?,
                action: row.try_get("action")?,
                target: row.try_get("target")?,
                item: row.try_get::<Option<i64>, _>("item_id")?.map(ItemId),
            })
        })
        .collect()
}
