//! Recording how attempts ended.

use std::collections::HashSet;

use serde_json::{Value, json};
use sqlx::{SqliteConnection, SqlitePool};

use super::batch::batches;
use super::changes::change;
use super::session::{millis, now, write};
use super::trouble::is_refusal;
use crate::Recorded;
use crate::ending::Ending;

pub(super) async fn finish(writer: &SqlitePool, endings: &[Ending]) -> sqlx::Result<Vec<Recorded>> {
    let mut tx = write(writer).await?;
    let mut answers = Vec::with_capacity(endings.len());
    for batch in batches(endings, bytes) {
        match record(&mut tx, batch).await {
            // One of the rows cannot be written now. Each is tried alone, so that it harms no other; a statement that
            // is refused undoes itself alone.
            Err(error) if is_refusal(&error) => {
                for ending in batch {
                    answers.push(record_alone(&mut tx, ending).await?);
                }
            }
            recorded => answers.extend(recorded?),
        }
    }
    tx.commit().await?;
    Ok(answers)
}

fn bytes(ending: &Ending) -> usize {
    [&ending.result, &ending.error, &ending.progress, &ending.log_tail].into_iter().flatten().map(String::len).sum()
}

async fn record_alone(tx: &mut SqliteConnection, ending: &Ending) -> sqlx::Result<Recorded> {
    match record(tx, std::slice::from_ref(ending)).await {
        Err(error) if is_refusal(&error) => {
            tracing::warn!(id = ending.id, attempt = ending.attempt, %error, "a finish was refused by the store");
            Ok(Recorded::Busy)
        }
        recorded => Ok(recorded?.into_iter().next().unwrap_or(Recorded::Lost)),
    }
}

/// Writes in one statement the ends of those attempts that still hold their items.
async fn record(tx: &mut SqliteConnection, endings: &[Ending]) -> sqlx::Result<Vec<Recorded>> {
    let rows: Vec<Value> = endings
        .iter()
        .map(|e| {
            let delay = millis(e.delay_micros);
            json!([e.id, e.attempt, e.ended_as, e.result, e.error, delay, e.progress, e.log_tail])
        })
        .collect();
    let written: Vec<(i64, i32)> = sqlx::query_as(concat!(
        "with ending as materialized (
            select j.key as place, j.value ->> 0 as id, j.value ->> 1 as attempt, j.value ->> 2 as ended_as,
                j.value ->> 3 as result, j.value ->> 4 as error, j.value ->> 5 as delay, j.value ->> 6 as progress,
                j.value ->> 7 as log_tail
            from json_each(?1) as j
        ), held as materialized (
            select e.*, w.kind, w.dedup_key,
                case
                    -- A cancel that was requested is never lost: what its host had not heard, the row has.
                    when e.ended_as = 'succeeded' then iif(w.cancel_requested_at is null, 'succeeded', 'cancelled')
                    -- An item whose cancel was requested is never queued again; its failure is still a failure.
                    when e.ended_as = 'released' then iif(w.cancel_requested_at is null, 'queued', 'cancelled')
                    when e.ended_as = 'retry' then iif(w.cancel_requested_at is null, 'queued', 'failed')
                    else e.ended_as
                end as status
            from ending e cross join work_items w on w.id = e.id and w.attempt = e.attempt and w.status = 'running'
        ), placed as materialized (
            -- Of the items of one key, one can be queued: the one that is already, or the first of these.
            select h.*, h.status = 'queued' and h.dedup_key is not null and (
                row_number() over (partition by h.status, h.kind, h.dedup_key order by h.id) > 1
                or exists (
                    select 1 from work_items q
                    where q.kind = h.kind and q.dedup_key = h.dedup_key and q.status = 'queued'
                )
            ) as superseded
            from held h
        )
        update work_items
        set status = iif(p.superseded, 'cancelled', p.status),
            reason = iif(p.superseded, 'superseded', reason),
            run_at = iif(p.ended_as = 'retry' and p.status = 'queued' and not p.superseded, ",
        now!(),
        " + p.delay, run_at),
            failures = failures + (p.ended_as in ('failed', 'retry')),
            interruptions = interruptions + (p.ended_as = 'released'),
            progress = coalesce(p.progress, work_items.progress),
            result = p.result,
            error = coalesce(p.error, work_items.error),
            log_tail = p.log_tail,
            ended_as = p.ended_as,
            lease_expires_at = null,
            updated_at = ",
        now!(),
        ",
            changed = p.place + ",
        change!(),
        ",
            finished_at = iif(p.status <> 'queued' or p.superseded, ",
        now!(),
        ", null)
        from placed p
        where work_items.id = p.id
        returning id, attempt"
    ))
    .bind(Value::from(rows).to_string())
    .fetch_all(&mut *tx)
    .await?;
    let written: HashSet<(i64, i32)> = written.into_iter().collect();
    let mut answers = Vec::with_capacity(endings.len());
    for ending in endings {
        let recorded = written.contains(&(ending.id, ending.attempt)) || recorded_before(tx, ending).await?;
        answers.push(if recorded { Recorded::Recorded } else { Recorded::Lost });
    }
    Ok(answers)
}

/// Whether this very end was recorded by an earlier call whose answer was lost.
async fn recorded_before(tx: &mut SqliteConnection, ending: &Ending) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "select exists (
            select 1 from work_items where id = ?1 and attempt = ?2 and status <> 'running' and ended_as = ?3
        )",
    )
    .bind(ending.id)
    .bind(ending.attempt)
    .bind(ending.ended_as)
    .fetch_one(tx)
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fence, Finish, ItemId, Json, Limits, Outcome};

    #[test]
    fn an_ending_is_as_large_as_its_texts() {
        let result = Some(Json::parse("[1, 2]").unwrap());
        let fence = Fence { id: ItemId(1), attempt: 1 };
        let finish = Finish {
            progress: Some(Json::parse("0.5").unwrap()),
            log_tail: Some("done".to_owned()),
            ..Finish::new(fence, Outcome::Succeeded(result))
        };
        assert_eq!(bytes(&Ending::new(&finish, &Limits::default())), 6 + 3 + 4);
    }
}
