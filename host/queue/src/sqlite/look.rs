//! Looking for what could be claimed.

use serde_json::json;
use sqlx::SqliteConnection;

use super::session::now;
use crate::claiming::{Arrival, Found, Frontier, Lane, Place, Sight, Survey};

/// Whether somebody has paused the kind or the scope of `f`, or its scope is busy.
macro_rules! held {
    () => {
        "(exists (select 1 from work_items r where r.scope = f.scope and r.status = 'running') or exists (
            select 1 from pauses p
            where (p.what, p.kind, p.scope) in (values ('kind', f.kind, ''), ('scope', '', coalesce(f.scope, '')))
        ))"
    };
}

/// Hops through the indexes from lane to lane, whatever waits in them.
pub(super) async fn survey(
    tx: &mut SqliteConnection,
    kinds: &[String],
    scopes: Option<&[String]>,
) -> sqlx::Result<Survey<i64>> {
    let (mark, now) = moment(tx).await?;
    let lanes: Vec<(Option<String>, String, i32, i64, i64)> = sqlx::query_as(
        "with recursive loose (id) as (
            select (
                select w.id from work_items w
                where w.status = 'queued' and w.scope is null and w.kind = k.value
                order by w.priority, w.run_at, w.id
                limit 1
            )
            from json_each(?1) as k
            union all
            select (
                select w.id from work_items w
                where w.status = 'queued' and w.scope is null and w.kind = l.kind and w.priority > l.priority
                order by w.priority, w.run_at, w.id
                limit 1
            )
            from loose cross join work_items l on l.id = loose.id
        ), anywhere (id) as (
            select (
                select w.id from work_items w
                where w.status = 'queued' and w.scope is not null
                order by w.scope, w.kind, w.priority, w.run_at, w.id
                limit 1
            )
            where ?2 is null
            union all
            select (
                select w.id from work_items w
                where w.status = 'queued' and w.scope is not null
                    and (w.scope, w.kind, w.priority) > (l.scope, l.kind, l.priority)
                order by w.scope, w.kind, w.priority, w.run_at, w.id
                limit 1
            )
            from anywhere cross join work_items l on l.id = anywhere.id
        ), listed (id) as (
            select (
                select w.id from work_items w
                where w.status = 'queued' and w.scope = s.value
                order by w.kind, w.priority, w.run_at, w.id
                limit 1
            )
            from (select distinct value from json_each(coalesce(?2, '[]'))) as s
            union all
            select (
                select w.id from work_items w
                where w.status = 'queued' and w.scope = l.scope and (w.kind, w.priority) > (l.kind, l.priority)
                order by w.kind, w.priority, w.run_at, w.id
                limit 1
            )
            from listed cross join work_items l on l.id = listed.id
        )
        select w.scope, w.kind, w.priority, w.run_at, w.id
        from (select id from loose union all select id from anywhere union all select id from listed) as f
        cross join work_items w on w.id = f.id
        where w.kind in (select value from json_each(?1))",
    )
    .bind(json!(kinds).to_string())
    .bind(scopes.map(|scopes| json!(scopes).to_string()))
    .fetch_all(&mut *tx)
    .await?;
    let lanes = lanes
        .into_iter()
        .map(|(scope, kind, priority, run_at, id)| (Lane { scope, kind, priority }, Place { run_at, id }));
    Ok(Survey { mark, now, lanes: lanes.collect() })
}

/// The transaction holds the write lock, so all of it is of one moment.
pub(super) async fn look(
    tx: &mut SqliteConnection,
    frontier: &Frontier<i64>,
    lanes: &[(Lane, Place)],
    most: u32,
) -> sqlx::Result<Sight<i64>> {
    let (mark, now) = moment(tx).await?;
    let mut found = vec![Found::default(); lanes.len()];
    for (lane, row) in heads(tx, lanes).await? {
        found[lane] = row;
    }
    for ((lane, place), found) in lanes.iter().zip(&mut found).filter(|((lane, _), _)| lane.scope.is_none()) {
        *found = loose(tx, lane, *place, most).await?;
    }
    // A store whose newest change is older than the mark was put back: all of it is new.
    let since = if mark < frontier.mark { i64::MIN } else { frontier.mark };
    Ok(Sight { mark, now, lanes: found, arrivals: arrivals(tx, frontier, since).await? })
}

/// The newest change, and the clock.
async fn moment(tx: &mut SqliteConnection) -> sqlx::Result<(i64, i64)> {
    sqlx::query_as(concat!(
        "select max(coalesce((select max(changed) from work_items), 0), f.through), ",
        now!(),
        " from forgotten f"
    ))
    .fetch_one(tx)
    .await
}

/// The first queued item of each lane that has a scope, with the lane's number.
async fn heads(tx: &mut SqliteConnection, lanes: &[(Lane, Place)]) -> sqlx::Result<Vec<(usize, Found)>> {
    let scoped: Vec<_> = lanes
        .iter()
        .enumerate()
        .filter(|(_, (lane, _))| lane.scope.is_some())
        .map(|(n, (lane, place))| json!([lane.scope, lane.kind, lane.priority, place.run_at, place.id, n]))
        .collect();
    if scoped.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<(i64, i64, i64, bool)> = sqlx::query_as(concat!(
        "select l.value ->> 5, f.run_at, f.id, ",
        held!(),
        " from json_each(?1) as l cross join work_items f on f.id = (
            select w.id from work_items w
            where w.status = 'queued' and w.scope = l.value ->> 0 and w.kind = l.value ->> 1
                and w.priority = l.value ->> 2 and (w.run_at, w.id) >= (l.value ->> 3, l.value ->> 4)
            order by w.run_at, w.id
            limit 1
        )"
    ))
    .bind(json!(scoped).to_string())
    .fetch_all(tx)
    .await?;
    let heads = rows.into_iter().map(|(lane, run_at, id, held)| {
        let lane = usize::try_from(lane).expect("the number of a lane is as it was given");
        (lane, Found { places: vec![Place { run_at, id }], held })
    });
    Ok(heads.collect())
}

/// The first queued items of a lane without a scope.
async fn loose(tx: &mut SqliteConnection, lane: &Lane, place: Place, most: u32) -> sqlx::Result<Found> {
    let rows: Vec<(i64, i64, bool)> = sqlx::query_as(concat!(
        "select f.run_at, f.id, ",
        held!(),
        " from work_items f
        where f.status = 'queued' and f.scope is null and f.kind = ?1 and f.priority = ?2 and (f.run_at, f.id) >= (?3, ?4)
        order by f.run_at, f.id
        limit ?5"
    ))
    .bind(&lane.kind)
    .bind(lane.priority)
    .bind(place.run_at)
    .bind(place.id)
    .bind(most)
    .fetch_all(tx)
    .await?;
    let held = rows.first().is_some_and(|&(_, _, held)| held);
    Ok(Found { places: rows.into_iter().map(|(run_at, id, _)| Place { run_at, id }).collect(), held })
}

/// The first item of each lane in which something was queued since a change.
async fn arrivals(tx: &mut SqliteConnection, frontier: &Frontier<i64>, since: i64) -> sqlx::Result<Vec<Arrival>> {
    let rows: Vec<(Option<String>, String, i32, i64, i64, bool)> = sqlx::query_as(concat!(
        "select f.scope, f.kind, f.priority, f.run_at, f.id, ",
        held!(),
        " from (
            select w.*, row_number() over (partition by w.scope, w.kind, w.priority order by w.run_at, w.id) as place
            from work_items w
            where w.changed > ?1 and w.status = 'queued' and w.kind in (select value from json_each(?2))
                and (w.scope is null or ?3 is null or w.scope in (select value from json_each(?3)))
        ) as f
        where f.place = 1"
    ))
    .bind(since)
    .bind(json!(frontier.kinds).to_string())
    .bind(frontier.scopes.as_ref().map(|scopes| json!(scopes).to_string()))
    .fetch_all(tx)
    .await?;
    let arrivals = rows.into_iter().map(|(scope, kind, priority, run_at, id, held)| Arrival {
        lane: Lane { scope, kind, priority },
        found: Found { places: vec![Place { run_at, id }], held },
    });
    Ok(arrivals.collect())
}
