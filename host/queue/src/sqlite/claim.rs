//! Claiming: taking the items that a claim has chosen, in the transaction in which it looked for them.

use serde_json::json;
use sqlx::{Sqlite, SqlitePool, Transaction};

use super::changes::change;
use super::look;
use super::read::{columns, item};
use super::session::{millis, now, write};
use crate::claiming::{self, Candidate, Frontier, Hint, Lane, Place, Sight, Store, Survey};
use crate::ending::{micros, number};
use crate::{Claim, ClaimRequest, LastChances};

pub(super) async fn claim(writer: &SqlitePool, hint: &Hint<i64>, request: &ClaimRequest) -> sqlx::Result<Vec<Claim>> {
    let mut claims = Vec::new();
    let mut claiming = Claiming { tx: write(writer).await?, request, last_chances: request.last_chances };
    let frontier = claiming::claim(&mut claiming, hint.take(), request, &mut claims).await?;
    claiming.tx.commit().await?;
    // Only now: without the commit nothing is as it was learnt.
    hint.put(frontier);
    claiming::sort(&mut claims);
    Ok(claims)
}

/// One claim. The transaction holds the write lock, so what a look found stays true.
struct Claiming<'a> {
    tx: Transaction<'static, Sqlite>,
    request: &'a ClaimRequest,
    /// Those that are left.
    last_chances: LastChances,
}

impl Store for Claiming<'_> {
    /// The number of the newest change.
    type Mark = i64;

    async fn survey(&mut self, kinds: &[String], scopes: Option<&[String]>) -> sqlx::Result<Survey<i64>> {
        look::survey(&mut self.tx, kinds, scopes).await
    }

    async fn look(&mut self, frontier: &Frontier<i64>, lanes: &[(Lane, Place)], most: u32) -> sqlx::Result<Sight<i64>> {
        look::look(&mut self.tx, frontier, lanes, most).await
    }

    /// In one statement.
    async fn take(&mut self, chosen: &[Candidate]) -> sqlx::Result<Vec<Claim>> {
        let digest = |kind: &str| self.request.kinds.iter().find(|known| known.kind == kind).map(|k| &k.handler_digest);
        let chosen: Vec<_> = chosen.iter().map(|candidate| json!([candidate.id, digest(&candidate.kind)])).collect();
        let rows = sqlx::query(concat!(
            "update work_items
            set status = 'running', attempt = attempt + 1, host = ?2, handler_digest = j.value ->> 1, ended_as = null,
                log_tail = null, lease_expires_at = ",
            now!(),
            " + ?3, started_at = ",
            now!(),
            ", updated_at = ",
            now!(),
            ", changed = j.key + ",
            change!(),
            " from json_each(?1) as j
            where work_items.id = j.value ->> 0 and (
                work_items.stalls < ?4
                or work_items.id in (
                    select w.id from json_each(?1) as c, work_items as w
                    where w.id = c.value ->> 0 and w.stalls >= ?4
                    order by w.id
                    limit ?5
                )
            )
            returning ",
            columns!()
        ))
        .bind(json!(chosen).to_string())
        .bind(&self.request.host)
        .bind(millis(micros(self.request.lease)))
        .bind(number(self.last_chances.stalls))
        .bind(i64::from(self.last_chances.limit))
        .fetch_all(&mut *self.tx)
        .await?;
        let claims: Vec<Claim> =
            rows.iter().map(|row| item(row).map(|item| Claim { item })).collect::<sqlx::Result<_>>()?;
        self.last_chances = self.last_chances.after(&claims);
        Ok(claims)
    }
}
