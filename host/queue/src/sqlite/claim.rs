//! Claiming: looking for candidates, and taking them, in one transaction.

use std::cmp::Reverse;

use serde_json::json;
use sqlx::{SqliteConnection, SqlitePool};

use super::changes::change;
use super::read::{columns, item};
use super::session::{millis, now, write};
use crate::choice::{self, Candidate, Choice};
use crate::ending::micros;
use crate::{Claim, ClaimRequest, KindSlots};

pub(super) async fn claim(writer: &SqlitePool, request: &ClaimRequest) -> sqlx::Result<Vec<Claim>> {
    let mut tx = write(writer).await?;
    let mut found = heads(&mut tx, request).await?;
    for kind in &request.kinds {
        found.extend(loose(&mut tx, kind, request.limit).await?);
    }
    found.sort_by_key(|&(id, _, _, priority, run_at)| (Reverse(priority), run_at, id));
    let mut waiting = found.into_iter().map(|(id, kind, scope, ..)| Candidate { id, kind, scope }).collect();
    let mut claims = Vec::new();
    for chosen in Choice::new(request, &[]).next(&mut waiting) {
        claims.push(take(&mut tx, request, &chosen).await?);
    }
    tx.commit().await?;
    choice::sort(&mut claims);
    Ok(claims)
}

/// A candidate's id, kind, scope, priority and run_at.
type Found = (i64, String, Option<String>, i32, i64);

/// Of each scope that is not busy the head: the first due item among the kinds that this host claims.
async fn heads(tx: &mut SqliteConnection, request: &ClaimRequest) -> sqlx::Result<Vec<Found>> {
    let kinds: Vec<&str> = request.kinds.iter().map(|kind| kind.kind.as_str()).collect();
    sqlx::query_as(concat!(
        "with recursive waiting (scope) as (
            -- Hops through the index from each scope to the next, whatever waits in them.
            select min(w.scope) from work_items w where w.status = 'queued' and w.scope is not null and ?2 is null
            union all
            select (select min(w.scope) from work_items w where w.status = 'queued' and w.scope > waiting.scope)
            from waiting where waiting.scope is not null
        ), free as materialized (
            select s.scope
            from (select scope from waiting union all select distinct value from json_each(coalesce(?2, '[]'))) as s
            where s.scope is not null and not exists (
                select 1 from work_items r where r.scope = s.scope and r.status = 'running'
            ) and not exists (
                select 1 from pauses p where p.what = 'scope' and p.kind = '' and p.scope = s.scope
            )
        ), firsts as materialized (
            select (
                select w.id from work_items w
                where w.status = 'queued' and w.scope = free.scope and w.kind = k.value and w.run_at <= ",
        now!(),
        "
                order by w.priority desc, w.run_at, w.id
                limit 1
            ) as id
            from free cross join json_each(?1) as k
            where not exists (select 1 from pauses p where p.what = 'kind' and p.kind = k.value and p.scope = '')
        ), ranked as (
            select w.id, w.kind, w.scope, w.priority, w.run_at,
                row_number() over (partition by w.scope order by w.priority desc, w.run_at, w.id) as place
            from firsts cross join work_items w on w.id = firsts.id
        )
        select id, kind, scope, priority, run_at from ranked where place = 1"
    ))
    .bind(json!(kinds).to_string())
    .bind(request.scopes.as_ref().map(|scopes| json!(scopes).to_string()))
    .fetch_all(tx)
    .await
}

/// The first due items of a kind that have no scope, as many as the host has room for.
async fn loose(tx: &mut SqliteConnection, kind: &KindSlots, limit: u32) -> sqlx::Result<Vec<Found>> {
    sqlx::query_as(concat!(
        "select id, kind, scope, priority, run_at from work_items
        where status = 'queued' and scope is null and kind = ?1 and run_at <= ",
        now!(),
        " and not exists (select 1 from pauses p where p.what = 'kind' and p.kind = ?1 and p.scope = '')
        order by priority desc, run_at, id
        limit ?2"
    ))
    .bind(&kind.kind)
    .bind(kind.slots.min(limit))
    .fetch_all(tx)
    .await
}

/// Takes one item. The transaction holds the write lock, so it is as it was found.
async fn take(tx: &mut SqliteConnection, request: &ClaimRequest, chosen: &Candidate) -> sqlx::Result<Claim> {
    let digest = request.kinds.iter().find(|kind| kind.kind == chosen.kind).map(|kind| &kind.handler_digest);
    let row = sqlx::query(concat!(
        "update work_items
        set status = 'running', attempt = attempt + 1, host = ?2, handler_digest = ?3, ended_as = null,
            lease_expires_at = ",
        now!(),
        " + ?4, started_at = ",
        now!(),
        ", updated_at = ",
        now!(),
        ", changed = ",
        change!(),
        " where id = ?1
        returning ",
        columns!()
    ))
    .bind(chosen.id)
    .bind(&request.host)
    .bind(digest)
    .bind(millis(micros(request.lease)))
    .fetch_one(tx)
    .await?;
    Ok(Claim { item: item(&row)? })
}
