//! What people did.

use sqlx::{PgExecutor, Row};

use crate::audit::AUDIT_SWEEP;
use crate::ending::micros;
use crate::{AUDIT_KEPT, AuditEntry, AuditPage, Deed, ItemId};

/// Records a deed, in the transaction that does it, and forgets some that are outdated.
pub(super) async fn record(executor: impl PgExecutor<'_>, deed: &Deed) -> sqlx::Result<()> {
    sqlx::query(
        "with outdated as materialized (
            select o.id from workhost.audit o
            where o.at < now() - $5 * interval '1 microsecond'
            order by o.at, o.id
            limit $6
            for update skip locked
        ), forgotten as (
            -- Not `in (… limit …)`, which a plan may answer anew for each row, and so past the limit.
            delete from workhost.audit a using outdated where a.id = outdated.id
        )
        insert into workhost.audit (at, actor, action, target, item_id) values (now(), $1, $2, $3, $4)",
    )
    .bind(&deed.actor)
    .bind(&deed.action)
    .bind(&deed.target)
    .bind(deed.item.map(|id| id.0))
    .bind(micros(AUDIT_KEPT))
    .bind(i64::from(AUDIT_SWEEP))
    .execute(executor)
    .await?;
    Ok(())
}

pub(super) async fn page(executor: impl PgExecutor<'_>, page: &AuditPage, limit: u32) -> sqlx::Result<Vec<AuditEntry>> {
    let rows = sqlx::query(
        "select a.id, a.at, a.actor, a.action, a.target, a.item_id from workhost.audit a
        where ($1::bigint is null or a.item_id = $1) and ($2::bigint is null or a.id < $2)
        order by a.id desc
        limit $3",
    )
    .bind(page.item.map(|id| id.0))
    .bind(page.before)
    .bind(i64::from(limit))
    .fetch_all(executor)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(AuditEntry {
                id: row.try_get("id")?,
                at: row.try_get("at")?,
                actor: row.try_get("actor")?,
                action: row.try_get("action")?,
                target: row.try_get("target")?,
                item: row.try_get::<Option<i64>, _>("item_id")?.map(ItemId),
            })
        })
        .collect()
}
