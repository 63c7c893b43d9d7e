//! Heartbeats: one statement for all attempts of this host.

use std::sync::Arc;

use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tracing::warn;
use workhost_admin::Readiness;
use workhost_queue::{Queue, QueueError};

use super::attempts::Attempts;
use crate::config;

/// Beats for ever. A beat that is not answered within one interval is given up, so that it cannot hold up the next.
pub(super) async fn run(
    queue: Arc<dyn Queue>,
    attempts: Arc<Attempts>,
    settings: &config::Worker,
    readiness: &Readiness,
) {
    let mut ticks = interval(settings.heartbeat_interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let (beats, revisions) = attempts.beats();
        if beats.is_empty() {
            continue;
        }
        let sent = Instant::now();
        let answer = timeout(settings.heartbeat_interval, queue.heartbeat(&beats, settings.lease)).await;
        let answer = answer.unwrap_or_else(|_| {
            Err(QueueError::Unavailable { reason: format!("no answer within {:?}", settings.heartbeat_interval) })
        });
        match answer {
            Ok(pulses) => {
                readiness.green("heartbeat");
                for ((beat, revision), pulse) in beats.iter().zip(revisions).zip(pulses) {
                    attempts.answered(beat.fence, revision, pulse, sent);
                }
            }
            Err(error) => {
                if readiness.red("heartbeat", error.to_string()) {
                    warn!(%error, running = beats.len(), "heartbeats are not answered; attempts stop themselves when half a lease has passed");
                }
            }
        }
    }
}
