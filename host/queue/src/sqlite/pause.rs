//! Holding work back, and letting it go on.

use sqlx::{Row, SqlitePool};

use super::audit;
use super::read::moment;
use super::session::{now, write};
use crate::{Deed, Pausable, Paused};

/// Answers whether it was not paused before.
pub(super) async fn pause(writer: &SqlitePool, work: &Pausable, deed: &Deed) -> sqlx::Result<bool> {
    let (what, kind, scope) = work.columns();
    let mut tx = write(writer).await?;
    let paused = sqlx::query(concat!(
        "insert into pauses (what, kind, scope, paused_at, paused_by) values (?1, ?2, ?3, ",
        now!(),
        ", ?4) on conflict do nothing"
    ))
    .bind(what)
    .bind(kind)
    .bind(scope)
    .bind(&deed.actor)
    .execute(&mut *tx)
    .await?;
    let paused = paused.rows_affected() > 0;
    if paused {
        audit::record(&mut tx, deed).await?;
    }
    tx.commit().await?;
    Ok(paused)
}

/// Answers whether it was paused.
pub(super) async fn resume(writer: &SqlitePool, work: &Pausable, deed: &Deed) -> sqlx::Result<bool> {
    let (what, kind, scope) = work.columns();
    let mut tx = write(writer).await?;
    let resumed = sqlx::query("delete from pauses where what = ?1 and kind = ?2 and scope = ?3")
        .bind(what)
        .bind(kind)
        .bind(scope)
        .execute(&mut *tx)
        .await?;
    let resumed = resumed.rows_affected() > 0;
    if resumed {
        audit::record(&mut tx, deed).await?;
    }
    tx.commit().await?;
    Ok(resumed)
}

pub(super) async fn paused(readers: &SqlitePool) -> sqlx::Result<Vec<Paused>> {
    let rows = sqlx::query("select what, kind, scope, paused_at, paused_by from pauses order by what, kind, scope")
        .fetch_all(readers)
        .await?;
    let mut paused = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(work) = Pausable::from_columns(row.try_get("what")?, row.try_get("kind")?, row.try_get("scope")?) {
            paused.push(Paused { work, since: moment(row.try_get("paused_at")?)?, by: row.try_get("paused_by")? });
        }
    }
    Ok(paused)
}
