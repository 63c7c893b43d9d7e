//! The worker: polls the queue, and runs each claimed item as one supervised attempt.

mod attempt;
mod attempts;
mod claims;
mod finisher;
mod heartbeat;
mod host;
mod outcome;
mod retry;
mod slots;
mod spacing;
mod stop;
mod sweep;
#[cfg(test)]
mod timelines;
mod vigil;

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tracing::warn;
use workhost_admin::Readiness;
use workhost_queue::HostQueue;

use crate::config;
use crate::registry::Registry;
use claims::Claims;
use host::Host;
use vigil::Vigil;

pub use stop::{Stop, StopSwitch};

/// The parts that other parts ask about.
const HEARTBEATS: &str = "heartbeats";
const SWEEP: &str = "sweep";

/// How long a claim that is on its way may delay telling the handlers of a shutdown: what it takes is handed back too.
const LAST_CLAIM: Duration = Duration::from_secs(1);

/// How long after the shutdown grace the worker waits for its last writes before it leaves anyway.
const LAST_WRITES: Duration = Duration::from_secs(2);

/// What all attempts of this host share.
pub struct Worker {
    /// The store.
    pub queue: Arc<dyn HostQueue>,
    /// Kinds and handlers: those of the newest valid configuration.
    pub registry: watch::Receiver<Arc<Registry>>,
    /// `[worker]`.
    pub settings: config::Worker,
    /// The owner written into claims: host name and boot nonce.
    pub owner: String,
    /// The runtime that guests run on: never the one that heartbeats run on.
    pub guests: Handle,
    /// Where the loops say whether they get through to the store.
    pub readiness: Readiness,
}

impl Worker {
    /// Claims and runs work until told to stop; then hands back what does not end within the grace period.
    pub async fn run(self, stop: Stop) {
        let readiness = self.readiness.clone();
        let (host, submissions) = Host::new(self);
        tokio::select! {
            // Heartbeats first, whatever else is to be done.
            biased;
            () = beat(&host, &readiness) => {}
            () = work(&host, &readiness, stop) => {}
            () = write(&host, submissions, &readiness) => {}
            () = sweep(&host, &readiness) => {}
        }
    }
}

/// Claims until told to stop, and sees to what then still runs.
async fn work(host: &Arc<Host>, readiness: &Readiness, mut stop: Stop) {
    let vigil = Vigil::new("claims", "no work can be claimed; it is tried again all the time", readiness);
    // Handlers are told only once no claim is on its way: it would take what they hand back at once.
    let (tell, told) = StopSwitch::new();
    let mut claims = Claims::new(Vigil::new(HEARTBEATS, "", readiness));
    let last_claim = {
        let mut stop = stop.clone();
        async move {
            stop.requested().await;
            sleep(LAST_CLAIM).await;
        }
    };
    tokio::select! {
        () = vigil.keep(async || claims.run(host, stop.clone(), &told, &vigil).await) => {}
        () = last_claim => {}
    }
    stop.requested().await;
    tell.stop();
    let all = async { tokio::join!(host.drain(), claims.hand_back_unheard(host)) };
    if timeout(host.settings.shutdown_grace + LAST_WRITES, all).await.is_err() {
        warn!("leaving although not all items could be handed back: their leases will run out");
    }
}

async fn beat(host: &Host, readiness: &Readiness) {
    let meaning = "heartbeats are not answered: nothing is claimed until they are, and attempts stop themselves when half a lease has passed";
    let vigil = Vigil::new(HEARTBEATS, meaning, readiness);
    let sweep = Vigil::new(SWEEP, "", readiness);
    let (every, lease) = (host.settings.heartbeat_interval, host.settings.lease);
    vigil.keep(async || heartbeat::run(&*host.queue, &host.attempts, every, lease, &sweep, &vigil).await).await;
}

async fn write(host: &Host, mut submissions: finisher::Submissions, readiness: &Readiness) {
    let meaning = "how attempts ended cannot be recorded; it is tried again all the time";
    let vigil = Vigil::new("outcomes", meaning, readiness);
    let limit = host.answer_within();
    vigil.keep(async || finisher::write(&host.queue, &mut submissions, limit, &vigil).await).await;
}

async fn sweep(host: &Host, readiness: &Readiness) {
    let meaning = "leases that ran out are not looked at, nor schedules; it is tried again all the time";
    let vigil = Vigil::new(SWEEP, meaning, readiness);
    vigil.keep(async || sweep::run(host, &vigil).await).await;
}
