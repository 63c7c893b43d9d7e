//! Holding work back, and letting it go on.

use sqlx::Row;

use super::audit;
use super::pool::{Pool, Session};
use super::session::patient;
use crate::{Deed, Pausable, Paused};

/// Answers whether it was not paused before.
pub(super) async fn pause(pool: &Pool, work: &Pausable, deed: &Deed) -> sqlx::Result<bool> {
    let mut tx = patient(pool).await?;
    let paused = pause_in(&mut tx, work, deed).await;
    tx.settle(paused).await
}

async fn pause_in(tx: &mut Session, work: &Pausable, deed: &Deed) -> sqlx::Result<bool> {
    let (what, kind, scope) = work.columns();
    let paused = sqlx::query(
        "insert into workhost.pauses (what, kind, scope, paused_at, paused_by) values ($1, $2, $3, now(), $4)
        on conflict do nothing",
    )
    .bind(what)
    .bind(kind)
    .bind(scope)
    .bind(&deed.actor)
    .execute(&mut *tx)
    .await?;
    let paused = paused.rows_affected() > 0;
    if paused {
        audit::record(tx, deed).await?;
    }
    Ok(paused)
}

/// Answers whether it was paused, and wakes all hosts then.
pub(super) async fn resume(pool: &Pool, work: &Pausable, deed: &Deed) -> sqlx::Result<bool> {
    let mut tx = patient(pool).await?;
    let resumed = resume_in(&mut tx, work, deed).await;
    tx.settle(resumed).await
}

async fn resume_in(tx: &mut Session, work: &Pausable, deed: &Deed) -> sqlx::Result<bool> {
    let (what, kind, scope) = work.columns();
    let resumed = sqlx::query("delete from workhost.pauses p where p.what = $1 and p.kind = $2 and p.scope = $3")
        .bind(what)
        .bind(kind)
        .bind(scope)
        .execute(&mut *tx)
        .await?
        .rows_affected()
        > 0;
    if resumed {
        audit::record(&mut *tx, deed).await?;
        sqlx::query("select pg_notify('workhost', '')").execute(tx).await?;
    }
    Ok(resumed)
}

pub(super) async fn paused(pool: &Pool) -> sqlx::Result<Vec<Paused>> {
    let rows = sqlx::query(
        "select p.what, p.kind, p.scope, p.paused_at, p.paused_by from workhost.pauses p
        order by p.what, p.kind, p.scope",
    )
    .fetch_all(pool)
    .await?;
    let mut paused = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(work) = Pausable::from_columns(row.try_get("what")?, row.try_get("kind")?, row.try_get("scope")?) {
            paused.push(Paused { work, since: row.try_get("paused_at")?, by: row.try_get("paused_by")? });
        }
    }
    Ok(paused)
}
