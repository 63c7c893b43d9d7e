//! Looking for what could be claimed, without taking a lock.

use sqlx::Row;
use sqlx::postgres::PgRow;
use time::OffsetDateTime;

use super::pool::Pool;
use crate::claiming::{Arrival, Found, Frontier, Lane, Place, Sight, Survey};

/// The mark of a statement: its snapshot. That of a hot standby does not list the transactions that are open, so there it
/// ends at the oldest of them: each is newer than the mark. A statement that a promotion overtakes may still have
/// such a snapshot, but its transaction began as one that only reads.
macro_rules! mark {
    () => {
        "case current_setting('transaction_read_only')
            when 'on' then format('%1$s:%1$s:', pg_snapshot_xmin(pg_current_snapshot()))
            else pg_current_snapshot()::text
        end as mark"
    };
}

/// Hops through the indexes from lane to lane, whatever waits in them.
pub(super) async fn survey(pool: &Pool, kinds: &[String], scopes: Option<&[String]>) -> sqlx::Result<Survey<String>> {
    let rows = sqlx::query(concat!(
        "with recursive loose as (
            select l.* from unnest($1::text[]) as k (kind) cross join lateral (
                select w.scope, w.kind, w.priority, w.run_at, w.id from workhost.work_items w
                where w.status = 'queued' and w.scope is null and w.kind = k.kind
                order by w.priority, w.run_at, w.id
                limit 1
            ) as l
            union all
            select next.* from loose l cross join lateral (
                select w.scope, w.kind, w.priority, w.run_at, w.id from workhost.work_items w
                where w.status = 'queued' and w.scope is null and w.kind = l.kind and w.priority > l.priority
                order by w.priority, w.run_at, w.id
                limit 1
            ) as next
        ), anywhere as (
            (select w.scope, w.kind, w.priority, w.run_at, w.id from workhost.work_items w
            where w.status = 'queued' and w.scope is not null and $2::text[] is null
            order by w.scope, w.kind, w.priority, w.run_at, w.id
            limit 1)
            union all
            select next.* from anywhere l cross join lateral (
                select w.scope, w.kind, w.priority, w.run_at, w.id from workhost.work_items w
                where w.status = 'queued' and w.scope is not null and (w.scope, w.kind, w.priority) > (l.scope, l.kind, l.priority)
                order by w.scope, w.kind, w.priority, w.run_at, w.id
                limit 1
            ) as next
        ), listed as (
            select l.* from (select distinct u.scope from unnest($2::text[]) as u (scope)) as s cross join lateral (
                select w.scope, w.kind, w.priority, w.run_at, w.id from workhost.work_items w
                where w.status = 'queued' and w.scope = s.scope
                order by w.kind, w.priority, w.run_at, w.id
                limit 1
            ) as l
            union all
            select next.* from listed l cross join lateral (
                select w.scope, w.kind, w.priority, w.run_at, w.id from workhost.work_items w
                where w.status = 'queued' and w.scope = l.scope and (w.kind, w.priority) > (l.kind, l.priority)
                order by w.kind, w.priority, w.run_at, w.id
                limit 1
            ) as next
        )
        select m.mark, m.now, l.*
        from (select ",
        mark!(),
        ", now() as now) as m
        left join (
            select * from loose union all
            select * from anywhere a where a.kind = any($1) union all
            select * from listed i where i.kind = any($1)
        ) as l on true"
    ))
    .bind(kinds)
    .bind(scopes)
    .fetch_all(pool)
    .await?;
    let (mark, now) = moment(&rows)?;
    let mut lanes = Vec::with_capacity(rows.len());
    for row in &rows {
        if let Some(place) = place(row)? {
            lanes.push((lane(row)?, place));
        }
    }
    Ok(Survey { mark, now, lanes })
}

/// One statement, so that what the lanes hold and what was queued meanwhile is of one moment.
pub(super) async fn look(
    pool: &Pool,
    frontier: &Frontier<String>,
    lanes: &[(Lane, Place)],
    most: u32,
) -> sqlx::Result<Sight<String>> {
    let rows = sqlx::query(concat!(
        "with lane as materialized (
            select l.* from unnest($1::text[], $2::text[], $3::integer[], $4::timestamptz[], $5::bigint[])
                with ordinality as l (scope, kind, priority, run_at, id, ord)
        ), change as materialized (
            select w.scope, w.kind, w.priority, w.run_at, w.id from workhost.work_items w
            where w.status = 'queued' and w.changed >= case
                -- A server that knows of fewer transactions was put back from a copy: all of it is new.
                when pg_snapshot_xmax(pg_current_snapshot()) < pg_snapshot_xmax($7::text::pg_snapshot) then '0'::xid8
                else pg_snapshot_xmax($7::text::pg_snapshot)
            end
            union all
            -- Of transactions that were open at the mark.
            select w.scope, w.kind, w.priority, w.run_at, w.id from workhost.work_items w
            where w.changed = any (array(select pg_snapshot_xip($7::text::pg_snapshot))) and w.status = 'queued'
        ), arrival as (
            select distinct on (c.scope, c.kind, c.priority) c.*
            from change c
            where c.kind = any($8::text[]) and (c.scope is null or $9::text[] is null or c.scope = any($9))
            order by c.scope, c.kind, c.priority, c.run_at, c.id
        ), first as (
            select l.ord, l.scope, l.kind, l.priority, f.run_at, f.id from lane l cross join lateral (
                select w.run_at, w.id from workhost.work_items w
                where w.status = 'queued' and w.scope is null and w.kind = l.kind and w.priority = l.priority
                    and (w.run_at, w.id) >= (l.run_at, l.id)
                order by w.run_at, w.id
                limit $6
            ) as f
            where l.scope is null
            union all
            select l.ord, l.scope, l.kind, l.priority, f.run_at, f.id from lane l cross join lateral (
                select w.run_at, w.id from workhost.work_items w
                where w.status = 'queued' and w.scope = l.scope and w.kind = l.kind and w.priority = l.priority
                    and (w.run_at, w.id) >= (l.run_at, l.id)
                order by w.run_at, w.id
                limit 1
            ) as f
            where l.scope is not null
            union all
            select null, a.scope, a.kind, a.priority, a.run_at, a.id from arrival a
        )
        select m.mark, m.now, f.*,
            -- Not `exists`, which a plan may answer by reading every running item that has a scope.
            (select true from workhost.work_items r where r.scope = f.scope and r.status = 'running') is true
            or f.kind in (select p.kind from workhost.pauses p where p.what = 'kind')
            or coalesce(f.scope, '') in (select p.scope from workhost.pauses p where p.what = 'scope') as held
        from (select ",
        mark!(),
        ", now() as now) as m left join first f on true
        order by f.ord, f.run_at, f.id"
    ))
    .bind(lanes.iter().map(|(lane, _)| lane.scope.as_deref()).collect::<Vec<_>>())
    .bind(lanes.iter().map(|(lane, _)| lane.kind.as_str()).collect::<Vec<_>>())
    .bind(lanes.iter().map(|(lane, _)| lane.priority).collect::<Vec<_>>())
    .bind(lanes.iter().map(|(_, place)| time(place.run_at)).collect::<sqlx::Result<Vec<_>>>()?)
    .bind(lanes.iter().map(|(_, place)| place.id).collect::<Vec<_>>())
    .bind(i64::from(most))
    .bind(&frontier.mark)
    .bind(&frontier.kinds)
    .bind(frontier.scopes.as_deref())
    .fetch_all(pool)
    .await?;
    let (mark, now) = moment(&rows)?;
    let mut found = vec![Found::default(); lanes.len()];
    let mut arrivals = Vec::new();
    for row in &rows {
        let Some(place) = place(row)? else { continue };
        let held = row.try_get("held")?;
        match row.try_get::<Option<i64>, _>("ord")?.and_then(|ord| usize::try_from(ord - 1).ok()) {
            Some(lane) => {
                found[lane].places.push(place);
                found[lane].held = held;
            }
            None => arrivals.push(Arrival { lane: lane(row)?, found: Found { places: vec![place], held } }),
        }
    }
    Ok(Sight { mark, now, lanes: found, arrivals })
}

/// The snapshot and the clock of a statement, which stand in each of its rows.
fn moment(rows: &[PgRow]) -> sqlx::Result<(String, i64)> {
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    Ok((row.try_get("mark")?, micros(row.try_get("now")?)))
}

fn lane(row: &PgRow) -> sqlx::Result<Lane> {
    Ok(Lane { scope: row.try_get("scope")?, kind: row.try_get("kind")?, priority: row.try_get("priority")? })
}

fn place(row: &PgRow) -> sqlx::Result<Option<Place>> {
    let Some(id) = row.try_get("id")? else { return Ok(None) };
    Ok(Some(Place { run_at: micros(row.try_get("run_at")?), id }))
}

/// PostgreSQL's own unit, so that nothing is rounded.
fn micros(time: OffsetDateTime) -> i64 {
    i64::try_from(time.unix_timestamp_nanos() / 1000).expect("a time of the driver's range fits into 64 bits")
}

fn time(micros: i64) -> sqlx::Result<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(micros) * 1000)
        .map_err(|error| sqlx::Error::Encode(error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_goes_to_the_server_as_it_came_from_there() {
        for moment in [0, 1_700_000_000_123_456, -1] {
            assert_eq!(micros(time(moment).unwrap()), moment);
        }
    }
}
