//! Claiming: looking for candidates, and taking them.
//!
//! The look takes no lock; taking checks everything again. Between the two, another host may be faster; then
//! the claim goes on to the next candidates.

use std::time::Duration;

use tokio::time::Instant;

use super::pool::Pool;
use super::read::{columns, item};
use super::session::left;
use super::trouble::is_conflict;
use crate::choice::{self, Candidate, Choice};
use crate::ending::micros;
use crate::{Claim, ClaimRequest};

/// Candidates of each kind beyond its free slots, for those that another host takes first.
const SPARE: i64 = 16;

/// How often a claim looks for candidates while other hosts are faster.
const LOOKS: u32 = 3;

/// How long a claim waits for scopes that other hosts are just taking, in all.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) async fn claim(pool: &Pool, request: &ClaimRequest) -> sqlx::Result<Vec<Claim>> {
    let deadline = Instant::now() + PATIENCE;
    let mut claims = Vec::new();
    for _ in 0..LOOKS {
        match look_and_take(pool, request, deadline, &mut claims).await {
            Ok(Look::Enough) => break,
            Ok(Look::Lost) => {}
            // What was taken is taken. The caller must hear of it, whatever happened to the rest.
            Err(error) if !claims.is_empty() => {
                tracing::debug!(%error, claimed = claims.len(), "a claim ended early");
                break;
            }
            Err(error) => return Err(error),
        }
    }
    choice::sort(&mut claims);
    Ok(claims)
}

/// What became of one look for candidates.
enum Look {
    /// There is no more room, or there are no more candidates.
    Enough,
    /// There is room, and other hosts took candidates: there may be more behind them.
    Lost,
}

async fn look_and_take(
    pool: &Pool,
    request: &ClaimRequest,
    deadline: Instant,
    claims: &mut Vec<Claim>,
) -> sqlx::Result<Look> {
    let mut waiting = candidates(pool, request).await?;
    let mut lost = 0;
    loop {
        let chosen = Choice::new(request, claims).next(&mut waiting);
        if chosen.is_empty() {
            let room = Choice::new(request, claims).has_room();
            return Ok(if lost > 0 && room { Look::Lost } else { Look::Enough });
        }
        let before = claims.len();
        take_chosen(pool, request, &chosen, deadline, claims).await?;
        lost += chosen.len() - (claims.len() - before);
    }
}

/// Takes the chosen ones: all at once; or, if another host is in the way of one, the scoped ones one by one.
async fn take_chosen(
    pool: &Pool,
    request: &ClaimRequest,
    chosen: &[Candidate],
    deadline: Instant,
    claims: &mut Vec<Claim>,
) -> sqlx::Result<()> {
    let ids = |scoped: bool| chosen.iter().filter(move |c| c.scope.is_some() == scoped).map(|c| c.id);
    let all: Vec<i64> = chosen.iter().map(|candidate| candidate.id).collect();
    match take(pool, request, &all).await {
        Err(error) if is_conflict(&error) => {}
        taken => return taken.map(|taken| claims.extend(taken)),
    }
    let unscoped: Vec<i64> = ids(false).collect();
    if !unscoped.is_empty() {
        claims.extend(take(pool, request, &unscoped).await?);
    }
    for id in ids(true) {
        if left(deadline).is_none() {
            break;
        }
        match take(pool, request, &[id]).await {
            // The loser of the race for a scope gets nothing of it now; it looks again at the next poll.
            Err(error) if is_conflict(&error) => {}
            taken => claims.extend(taken?),
        }
    }
    Ok(())
}

/// The due items that this host may claim, in the order of claims: of each kind a few more than it has slots for,
/// and of each scope that is not busy only the head.
async fn candidates(pool: &Pool, request: &ClaimRequest) -> sqlx::Result<Vec<Candidate>> {
    let rows: Vec<(i64, String, Option<String>)> = sqlx::query_as(
        "with recursive kinds as (
            select * from unnest($1::text[], $2::bigint[]) as k (kind, most)
            where k.kind not in (select p.kind from workhost.pauses p where p.what = 'kind')
        ), waiting (scope) as (
            -- Hops through the index from each scope to the next, whatever waits in them.
            (select w.scope from workhost.work_items w
            where w.status = 'queued' and w.scope is not null and $3::text[] is null
            order by w.scope limit 1)
            union all
            select (select w.scope from workhost.work_items w
                where w.status = 'queued' and w.scope > waiting.scope
                order by w.scope limit 1)
            from waiting where waiting.scope is not null
        ), free as materialized (
            select s.scope
            from (select w.scope from waiting w union all select distinct u.scope from unnest($3) as u (scope)) as s
            where s.scope is not null and not exists (
                select from workhost.work_items r where r.scope = s.scope and r.status = 'running'
            ) and s.scope not in (select p.scope from workhost.pauses p where p.what = 'scope')
        ), heads as materialized (
            select head.*
            from free cross join lateral (
                select first.*
                from kinds cross join lateral (
                    select w.id, w.kind, w.scope, w.priority, w.run_at from workhost.work_items w
                    where w.status = 'queued' and w.scope = free.scope and w.kind = kinds.kind and w.run_at <= now()
                    order by w.priority desc, w.run_at, w.id
                    limit 1
                ) as first
                order by first.priority desc, first.run_at, first.id
                limit 1
            ) as head
        ), loose as materialized (
            select next.*
            from kinds cross join lateral (
                select w.id, w.kind, w.scope, w.priority, w.run_at from workhost.work_items w
                where w.status = 'queued' and w.scope is null and w.kind = kinds.kind and w.run_at <= now()
                order by w.priority desc, w.run_at, w.id
                limit kinds.most
            ) as next
        ), ranked as (
            select c.*, row_number() over (partition by c.kind order by c.priority desc, c.run_at, c.id) as place
            from (select * from heads union all select * from loose) as c
        )
        select r.id, r.kind, r.scope
        from ranked r join kinds k on k.kind = r.kind and r.place <= k.most
        order by r.priority desc, r.run_at, r.id",
    )
    .bind(request.kinds.iter().map(|kind| kind.kind.as_str()).collect::<Vec<_>>())
    .bind(request.kinds.iter().map(|kind| i64::from(kind.slots.min(request.limit)) + SPARE).collect::<Vec<_>>())
    .bind(request.scopes.as_deref())
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(|(id, kind, scope)| Candidate { id, kind, scope }).collect())
}

/// Takes those of the items that are still due and whose scope is free; skips those that somebody has locked.
async fn take(pool: &Pool, request: &ClaimRequest, ids: &[i64]) -> sqlx::Result<Vec<Claim>> {
    let rows = sqlx::query(concat!(
        "with due as materialized (
            select d.id from workhost.work_items d
            where d.id = any($1) and d.status = 'queued' and d.run_at <= now() and not exists (
                select from workhost.work_items r where r.scope = d.scope and r.status = 'running'
            )
                and d.kind not in (select p.kind from workhost.pauses p where p.what = 'kind')
                and coalesce(d.scope, '') not in (select p.scope from workhost.pauses p where p.what = 'scope')
            -- One order of scopes for all hosts, so that they wait for each other in turn.
            order by d.scope, d.id
            for no key update of d skip locked
        )
        update workhost.work_items w
        set status = 'running', attempt = w.attempt + 1, host = $2, handler_digest = k.handler_digest, ended_as = null,
            lease_expires_at = now() + $3 * interval '1 microsecond', started_at = now(), updated_at = now(),
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
