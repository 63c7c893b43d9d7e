//! Signs of life.

use std::time::Duration;

use sqlx::{SqliteConnection, SqlitePool};

use super::changes::change;
use super::session::{millis, now, write};
use super::trouble::is_refusal;
use crate::ending::{micros, number};
use crate::{Beat, Limits, Pulse};

pub(super) async fn heartbeat(
    writer: &SqlitePool,
    beats: &[Beat],
    lease: Duration,
    limits: &Limits,
) -> sqlx::Result<Vec<Pulse>> {
    let mut tx = write(writer).await?;
    let mut pulses = Vec::with_capacity(beats.len());
    for beat in beats {
        pulses.push(match extend(&mut tx, beat, lease, limits).await {
            // A statement that is refused undoes itself alone.
            Err(error) if is_refusal(&error) => {
                tracing::debug!(id = beat.fence.id.0, attempt = beat.fence.attempt, %error, "a heartbeat was refused by the store");
                Pulse::Busy
            }
            pulse => pulse?,
        });
    }
    tx.commit().await?;
    Ok(pulses)
}

async fn extend(tx: &mut SqliteConnection, beat: &Beat, lease: Duration, limits: &Limits) -> sqlx::Result<Pulse> {
    let progress = beat.progress.as_ref().and_then(|progress| limits.progress(progress));
    let cancel_requested: Option<bool> = sqlx::query_scalar(concat!(
        "update work_items
        set lease_expires_at = ",
        now!(),
        " + ?3,
            progress = coalesce(?4, progress),
            -- Only what people see moves it.
            updated_at = case when ?4 is null or ?4 is progress then updated_at else ",
        now!(),
        " end,
            changed = case when ?4 is null or ?4 is progress then changed else ",
        change!(),
        " end
        where id = ?1 and attempt = ?2 and status = 'running'
        returning cancel_requested_at is not null"
    ))
    .bind(beat.fence.id.0)
    .bind(number(beat.fence.attempt))
    .bind(millis(micros(lease)))
    .bind(progress.as_ref().map(|json| json.as_str()))
    .fetch_optional(tx)
    .await?;
    Ok(match cancel_requested {
        Some(true) => Pulse::CancelRequested,
        Some(false) => Pulse::Alive,
        None => Pulse::Lost,
    })
}
