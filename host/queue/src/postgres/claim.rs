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
use crate::ending::micros;
use crate::{Claim, ClaimRequest};

/// How long a claim waits for scopes that other hosts are just taking, in all.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) async fn claim(pool: &Pool, hint: &Hint<String>, request: &ClaimRequest) -> sqlx::Result<Vec<Claim>> {
    let mut claims = Vec::new();
    let mut claiming = Claiming { pool, request, deadline: Instant::now() + PATIENCE };
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
        match take(self.pool, self.request, &all).await {
            Err(error) if is_conflict(&error) => {}
            taken => return taken,
        }
        let unscoped: Vec<i64> = ids(false).collect();
        let mut claims =
            if unscoped.is_empty() { Vec::new() } else { take(self.pool, self.request, &unscoped).await? };
        for id in ids(true) {
            if left(self.deadline).is_none() {
                break;
            }
            match take(self.pool, self.request, &[id]).await {
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

/// Takes those of the items that are still due and whose scope is free; skips those that somebody has locked.
async fn take(pool: &Pool, request: &ClaimRequest, ids: &[i64]) -> sqlx::Result<Vec<Claim>> {
    let rows = sqlx::query(concat!(
        "with due as materialized (
            select d.id from workhost.work_items d
            where d.id = any($1) and d.status = 'queued' and d.run_at <= now()
                -- Not `not exists`, which a plan may answer by reading every running item that has a scope.
                and (select true from workhost.work_items r where r.scope = d.scope and r.status = 'running') is null
                and d.kind not in (select p.kind from workhost.pauses p where p.what = 'kind')
                and coalesce(d.scope, '') not in (select p.scope from workhost.pauses p where p.what = 'scope')
            -- One order of scopes for all hosts, so that they wait for each other in turn.
            order by d.scope, d.id
            for no key update of d skip locked
        )
        update workhost.work_items w
        set status = 'running', attempt = w.attempt + 1, host = $2, handler_digest = k.handler_digest, ended_as = null,
            log_tail = null, lease_expires_at = now() + $3 * interval '1 microsecond', started_at = now(), updated_at = now(),
            changed = pg_current_xact_id()
        from due, unnest($4::text[], $5::text[]) as k (kind, handler_digest)
        where w.id = due.id and k.kind = w.kind
        returning ",
        columns!()
    ))
    .bind(ids)
    .bind(&request.host)
    .bind(micros(request.lease))
    .bind(request.kinds.iter().map(|kind| kind.kind.as_str()).collect::<Vec<_>>())
    .bind(request.kinds.iter().map(|kind| kind.handler_digest.as_str()).collect::<Vec<_>>())
    .fetch_all(pool)
    .await?;
    rows.iter().map(|row| item(row).map(|item| Claim { item })).collect()
}
