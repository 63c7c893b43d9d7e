//! Heartbeats: one statement for all attempts of this host.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};
use workhost_queue::HostQueue;

use super::attempts::Attempts;
use super::vigil::{Vigil, within};

/// Beats for ever. A beat that is not answered within one interval is given up, so that it cannot hold up the next.
pub(super) async fn run(
    queue: &dyn HostQueue,
    attempts: &Attempts,
    every: Duration,
    lease: Duration,
    sweep: &Vigil,
    vigil: &Vigil,
) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let (beats, revisions) = attempts.beats();
        // A host that runs nothing goes on asking until it is answered: it claims nothing before. That nothing was written is
        // no proof, but the sweep writes.
        let was_red = vigil.is_red();
        if beats.is_empty() && (!was_red || sweep.is_red()) {
            continue;
        }
        let sent = Instant::now();
        let answer = within(every, queue.heartbeat(&beats, lease)).await;
        let Some(pulses) = vigil.tell(answer) else { continue };
        if was_red {
            queue.wake().notify_one();
        }
        for ((beat, revision), pulse) in beats.iter().zip(revisions).zip(pulses) {
            attempts.answered(beat.fence, revision, pulse, sent);
        }
    }
}
