//! The worker: polls the queue, and runs each claimed item as one supervised attempt.

mod attempt;
mod attempts;
mod finisher;
mod heartbeat;
mod outcome;
mod retry;
mod slots;
mod stop;

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{debug, error, info, warn};
use workhost_admin::Readiness;
use workhost_queue::{Claim, ClaimRequest, HostReport, Queue, QueueError, Status};

use crate::config;
use crate::fault::Fault;
use crate::registry::{Kind, Registry};
use attempts::Attempts;
use slots::{Slot, Slots};

pub use stop::{Stop, StopSwitch};

/// How many expired leases one sweep ends at most, so that a sweep stays short after a long outage.
const RECOVER_LIMIT: u32 = 500;

/// How long a claim that is on its way may delay telling the handlers of a shutdown.
const LAST_CLAIM: Duration = Duration::from_secs(1);

/// How long after the shutdown grace the worker waits for its last writes before it leaves anyway.
const LAST_WRITES: Duration = Duration::from_secs(3);

/// What all attempts of this host share.
pub struct Worker {
    /// The store.
    pub queue: Arc<dyn Queue>,
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

/// An item that this host holds, with all that it needs to run.
struct Taken {
    claim: Claim,
    kind: Arc<Kind>,
    slot: Slot,
}

impl Worker {
    /// Claims and runs work until told to stop; then hands back what does not end within the grace period.
    pub async fn run(self, stop: Stop) {
        let attempts = Arc::new(Attempts::default());
        let slots = Arc::new(Slots::new(self.settings.slots));
        let (finisher, writes) = finisher::start(self.queue.clone(), self.settings.heartbeat_interval);
        let context = Arc::new(attempt::Context {
            guests: self.guests.clone(),
            settings: self.settings.clone(),
            attempts: attempts.clone(),
            finisher,
        });
        let heartbeats = heartbeat::run(self.queue.clone(), attempts, &self.settings, &self.readiness);
        let mut running = JoinSet::new();
        // Handlers are told only once no claim is on its way: it would take what they hand back at once.
        let (tell, told) = StopSwitch::new();
        let work = async {
            self.poll(&context, &slots, &mut running, stop.clone(), &told).await;
            tell.stop();
            self.drain(&mut running).await;
        };
        let last_claim = async {
            stop.clone().requested().await;
            sleep(LAST_CLAIM).await;
            tell.stop();
            std::future::pending().await
        };
        tokio::select! {
            () = work => {}
            () = last_claim => {}
            () = heartbeats => {}
            () = writes => {}
        }
    }

    /// The poll loop: sweep and claim when woken, when a slot is freed, and every poll interval.
    async fn poll(
        &self,
        context: &Arc<attempt::Context>,
        slots: &Arc<Slots>,
        running: &mut JoinSet<()>,
        mut stop: Stop,
        told: &Stop,
    ) {
        let wake = self.queue.wake();
        let mut reloads = self.registry.clone();
        let mut next_sweep = Instant::now();
        while !stop.is_requested() {
            // The same for the whole pass: what it claims is run by the handlers that it was claimed for.
            let registry = reloads.borrow_and_update().clone();
            let pass = async {
                if Instant::now() >= next_sweep {
                    next_sweep = Instant::now() + self.settings.poll_interval;
                    self.sweep(&registry).await?;
                }
                self.claim(&registry, slots).await
            };
            // A pass that hangs may not hold up the next one for ever. A claim older than this is useless: its attempts would
            // stop themselves at once.
            let limit = self.settings.lease / 2;
            let passed = timeout(limit, pass)
                .await
                .unwrap_or_else(|_| Err(QueueError::Unavailable { reason: format!("no answer within {limit:?}") }));
            let sent_and_claims = match passed {
                Ok(claimed) => {
                    self.readiness.green("worker");
                    claimed
                }
                Err(error) => {
                    if self.readiness.red("worker", error.to_string()) {
                        warn!(%error, "the worker cannot reach the store; it tries again every {:?}", self.settings.poll_interval);
                    }
                    None
                }
            };
            if let Some((sent, claims)) = sent_and_claims {
                for taken in claims {
                    Fault::Claimed.reached(&taken.kind.name);
                    start(context, running, taken, sent, told.clone());
                }
            }
            while let Some(ended) = running.try_join_next() {
                report_panic(ended);
            }
            tokio::select! {
                () = stop.requested() => {}
                () = wake.notified() => {}
                () = slots.freed() => {}
                Ok(()) = reloads.changed() => {}
                () = sleep_until(next_sweep) => {}
            }
        }
    }

    async fn sweep(&self, registry: &Registry) -> Result<(), QueueError> {
        for recovered in self.queue.recover_expired(self.settings.max_stalls, RECOVER_LIMIT).await? {
            let (item, stalls) = (recovered.id, recovered.stalls);
            match recovered.status {
                Status::Failed => error!(%item, stalls, "its lease ran out once too often: failed as stalled"),
                status => warn!(%item, stalls, %status, "its lease ran out unanswered"),
            }
        }
        let periodics = registry.periodics();
        if !periodics.is_empty() {
            for item in self.queue.enqueue_due(periodics).await? {
                info!(%item, "a periodic kind is due: enqueued");
            }
        }
        self.report(registry).await;
        Ok(())
    }

    /// Tells people which kinds this host runs. Nothing depends on it.
    async fn report(&self, registry: &Registry) {
        let kinds = registry.kinds().map(|kind| kind.name.clone()).collect();
        let report = HostReport { host: self.owner.clone(), kinds, slots: self.settings.slots };
        if let Err(error) = self.queue.host_seen(&report).await {
            debug!(%error, "the host's report was not kept");
        }
    }

    /// Claims what there are slots for. Answers when the claim was sent: its lease counts from then at the latest.
    async fn claim(
        &self,
        registry: &Registry,
        slots: &Arc<Slots>,
    ) -> Result<Option<(Instant, Vec<Taken>)>, QueueError> {
        let (limit, kinds) = slots.free(registry);
        if limit == 0 || kinds.is_empty() {
            return Ok(None);
        }
        let request = ClaimRequest {
            host: self.owner.clone(),
            kinds,
            scopes: self.settings.scopes.clone(),
            limit,
            lease: self.settings.lease,
        };
        let sent = Instant::now();
        let claims = self.queue.claim(&request).await?;
        let claims = claims.into_iter().filter_map(|claim| {
            let Some(kind) = registry.kind(&claim.item.kind).cloned() else {
                // Only kinds of this registry were asked for; the claim lapses and another host takes the item.
                error!(item = %claim.item.id, kind = %claim.item.kind, "the store gave out a kind that was not asked for");
                return None;
            };
            let slot = slots.take(&kind.name);
            Some(Taken { claim, kind, slot })
        });
        Ok(Some((sent, claims.collect())))
    }

    async fn drain(&self, running: &mut JoinSet<()>) {
        if running.is_empty() {
            return;
        }
        info!(running = running.len(), grace = ?self.settings.shutdown_grace, "stopping: running handlers were told");
        let all = async {
            while let Some(ended) = running.join_next().await {
                report_panic(ended);
            }
        };
        if timeout(self.settings.shutdown_grace + LAST_WRITES, all).await.is_err() {
            warn!(
                running = running.len(),
                "leaving although not all items could be handed back: their leases will run out"
            );
        }
    }
}

/// Runs what was claimed beside the others.
fn start(context: &Arc<attempt::Context>, running: &mut JoinSet<()>, taken: Taken, sent: Instant, stop: Stop) {
    let Taken { claim, kind, slot } = taken;
    let context = context.clone();
    running.spawn(async move {
        attempt::run(&context, claim, &kind, sent, stop).await;
        drop(slot);
    });
}

fn report_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        error!(%error, "an attempt's supervisor failed; its lease will run out and the item runs again");
    }
}
