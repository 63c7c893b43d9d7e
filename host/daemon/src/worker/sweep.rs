//! The sweep: ends attempts whose lease ran out, enqueues periodic kinds that are due, and tells people of this host.

use tokio::time::{MissedTickBehavior, interval};
use tracing::{error, info, warn};
use workhost_queue::{HostReport, QueueError, Recovered, Status};

use super::Host;
use super::vigil::{Vigil, within};

/// How many expired leases one sweep ends at most, so that a sweep stays short after a long outage.
const RECOVER_LIMIT: u32 = 500;

/// Sweeps for ever.
pub(super) async fn run(host: &Host, vigil: &Vigil) {
    let mut ticks = interval(host.settings.poll_interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        while vigil.tell(sweep(host).await).is_none() {
            tokio::time::sleep(host.retry_after()).await;
        }
    }
}

/// One sweep; each verb has its own time.
async fn sweep(host: &Host) -> Result<(), QueueError> {
    let limit = host.answer_within();
    let recovered = within(limit, host.queue.recover_expired(host.settings.max_stalls, RECOVER_LIMIT)).await?;
    recovered.iter().for_each(log);
    if recovered.iter().any(|recovered| recovered.status == Status::Queued) {
        host.queue.wake().notify_one();
    }
    let registry = host.registry.borrow().clone();
    let periodics = registry.periodics();
    if !periodics.is_empty() {
        for item in within(limit, host.queue.enqueue_due(periodics)).await? {
            info!(%item, "a periodic kind is due: enqueued");
        }
    }
    let kinds = registry.kinds().map(|kind| kind.name.clone()).collect();
    let report = HostReport { host: host.owner.clone(), kinds, slots: host.settings.slots };
    within(limit, host.queue.host_seen(&report)).await
}

fn log(recovered: &Recovered) {
    let (item, stalls) = (recovered.id, recovered.stalls);
    match recovered.status {
        Status::Failed => error!(%item, stalls, "its lease ran out once too often: failed as stalled"),
        status => warn!(%item, stalls, %status, "its lease ran out unanswered"),
    }
}
