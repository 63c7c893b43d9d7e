//! Claiming: taking the items that a claim has chosen.
//!
//! The [look](super::look) takes no lock; taking checks everything again. Between the two, another host may be faster;
//! then the claim goes on to the next candidates.

use std::time::Duration;

use tokio::time::Instant;

use super::look;
use super::pool::Pool;
use super::read::{columns, item};
use super::session::left;
use super::trouble::is_conflict;
use crate::claiming::{self, Candidate, Frontier, Hint, Lane, Place, Sight, Store, Survey};
use crate::ending::{micros, number};
use crate::{Claim, ClaimRequest, LastChances};

/// How long a claim waits for scopes that other hosts are just taking, in all.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) async fn claim(pool: &Pool, hint: &Hint<String>, request: &ClaimRequest) -> sqlx::Result<Vec<Claim>> {
    let mut claims = Vec::new();
    let mut claiming =
        Claiming { pool, request, last_chances: request.last_chances, deadline: Instant::now() + PATIENCE };
    match claiming::claim(&mut claiming, hint.take(), request, &mut claims).await {
        Ok(frontier) => hint.put(frontier),
        // What was taken is taken. The caller must hear of it, whatever happened to the rest.
        Err(error) if !claims.is_empty() => {
            tracing::debug!(%error, claimed = claims.len(), "a claim ended early");
        }
        Err(error) => return Err(error),
    }
    claiming::sort(&mut claims);
    Ok(claims)
}

/// One claim.
struct Claiming<'a> {
    pool: &'a Pool,
    request: &'a ClaimRequest,
    /// Those that are left.
    last_chances: LastChances,
    deadline: Instant,
}

impl Store for Claiming<'_> {
    /// A snapshot, as PostgreSQL writes it: `xmin:xmax:xip_list`.
    type Mark = String;

    async fn survey(&mut self, kinds: &[String], scopes: Option<&[String]>) -> sqlx::Result<Survey<String>> {
        look::survey(self.pool, kinds, scopes).await
    }

    async fn look(
        &mut self,
        frontier: &Frontier<String>,
        lanes: &[(Lane, Place)],
        most: u32,
    ) -> sqlx::Result<Sight<String>> {
        look::look(self.pool, frontier, lanes, most).await
    }

    /// All at once; or, if another host is in the way of one, the scoped ones one by one.
    async fn take(&mut self, chosen: &[Candidate]) -> sqlx::Result<Vec<Claim>> {
        let ids = |scoped: bool| chosen.iter().filter(move |c| c.scope.is_some() == scoped).map(|c| c.id);
        let all: Vec<i64> = chosen.iter().map(|candidate| candidate.id).collect();
        match self.take_together(&all).await {
            Err(error) if is_conflict(&error) => {}
            taken => return taken,
        }
        let unscoped: Vec<i64> = ids(false).collect();
        let mut claims = if unscoped.is_empty() { Vec::new() } else { self.take_together(&unscoped).await? };
        for id in ids(true) {
            if left(self.deadline).is_none() {
                break;
            }
            match self.take_together(&[id]).await {
                // The loser of the race for a scope gets nothing of it now; it looks again at the next poll.
                Err(error) if is_conflict(&error) => {}
                Err(error) if claims.is_empty() => return Err(error),
                // What was taken before is taken.
                Err(error) => {
                    tracing::debug!(%error, claimed = claims.len(), "a claim ended early");
                    break;
                }
                Ok(taken) => claims.extend(taken),
            }
        }
        Ok(claims)
    }
}

impl Claiming<'_> {
    /// In one statement: all of these that can be taken, or none.
    async fn take_together(&mut self, ids: &[i64]) -> sqlx::Result<Vec<Claim>> {
        let claims = take(self.pool, self.request, self.last_chances, ids).await?;
        self.last_chances = self.last_chances.after(&claims);
        Ok(claims)
    }
}

/// Takes those of the items that are still due and whose scope is free; skips those that somebody has locked.
async fn take(pool: &Pool, request: &ClaimRequest, last_chances: LastChances, ids: &[i64]) -> sqlx::Result<Vec<Claim>> {
    let rows = sqlx::query(concat!(
        "with due as materialized (
            select d.id, d.stalls >= $6 as last_chance from workhost.work_items d
            where d.id = any($1) and d.status = 'queued' and d.run_at <= now()
                -- Not `not exists`, which a plan may answer by reading every running item that has a scope.
                and (select true from workhost.work_items r where r.scope = d.scope and r.status = 'running') is null
                and d.kind not in (select p.kind from workhost.pauses p where p.what = 'kind')
                and coalesce(d.scope, '') not in (select p.scope from workhost.pauses p where p.what = 'scope')
            -- One order of scopes for all hosts, so that they wait for each other in turn.
            order by d.scope, d.id
            for no key update of d skip locked
        ), taken as (
            select d.id, not d.last_chance or row_number() over (partition by d.last_chance order by d.id) <= $7 as may
            from due d
        )
        update workhost.work_items w
        set status = 'running', attempt = w.attempt + 1, host = $2, handler_digest = k.handler_digest, ended_as = null,
            log_tail = null, lease_expires_at = now() + $3 * interval '1 microsecond', started_at = now(), updated_at = now(),
            changed = pg_current_xact_id()
        from taken t, unnest($4::text[], $5::text[]) as k (kind, handler_digest)
        where t.may and w.id = t.id and k.kind = w.kind
        returning ",
        columns!()
    ))
    .bind(ids)
    .bind(&request.host)
    .bind(micros(request.lease))
    .bind(request.kinds.iter().map(|kind| kind.kind.as_str()).collect::<Vec<_>>())
    .bind(request.kinds.iter().map(|kind| kind.handler_digest.as_str()).collect::<Vec<_>>())
    .bind(number(last_chances.stalls))
    .bind(i64::from(last_chances.limit))
    .fetch_all(pool)
    .await?;
    rows.iter().map(|row| item(row).map(|item| Claim { item })).collect()
}
