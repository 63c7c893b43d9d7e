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
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{error, info, warn};
use workhost_admin::Readiness;
use workhost_queue::{Claim, ClaimRequest, Queue, QueueError, Status};

use crate::config;
use crate::registry::Registry;
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
    /// Kinds and handlers.
    pub registry: Arc<Registry>,
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
        let attempts = Arc::new(Attempts::default());
        let slots = Arc::new(Slots::new(&self.settings, &self.registry));
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
        let mut next_sweep = Instant::now();
        while !stop.is_requested() {
            let pass = async {
                if Instant::now() >= next_sweep {
                    next_sweep = Instant::now() + self.settings.poll_interval;
                    self.sweep().await?;
                }
                self.claim(slots).await
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
                for (claim, slot) in claims {
                    self.start(context, running, claim, slot, sent, told.clone());
                }
            }
            while let Some(ended) = running.try_join_next() {
                report_panic(ended);
            }
            tokio::select! {
                () = stop.requested() => {}
                () = wake.notified() => {}
                () = slots.freed() => {}
                () = sleep_until(next_sweep) => {}
            }
        }
    }

    async fn sweep(&self) -> Result<(), QueueError> {
        for recovered in self.queue.recover_expired(self.settings.max_stalls, RECOVER_LIMIT).await? {
            let (item, stalls) = (recovered.id, recovered.stalls);
            match recovered.status {
                Status::Failed => error!(%item, stalls, "its lease ran out once too often: failed as stalled"),
                status => warn!(%item, stalls, %status, "its lease ran out unanswered"),
            }
        }
        let periodics = self.registry.periodics();
        if !periodics.is_empty() {
            for item in self.queue.enqueue_due(periodics).await? {
                info!(%item, "a periodic kind is due: enqueued");
            }
        }
        Ok(())
    }

    /// Claims what there are slots for. Answers when the claim was sent: its lease counts from then at the latest.
    async fn claim(&self, slots: &Arc<Slots>) -> Result<Option<(Instant, Vec<(Claim, Slot)>)>, QueueError> {
        let (limit, kinds) = slots.free(&self.registry);
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
        let claims = claims.into_iter().map(|claim| {
            let slot = slots.take(&claim.item.kind);
            (claim, slot)
        });
        Ok(Some((sent, claims.collect())))
    }

    fn start(
        &self,
        context: &Arc<attempt::Context>,
        running: &mut JoinSet<()>,
        claim: Claim,
        slot: Slot,
        sent: Instant,
        stop: Stop,
    ) {
        let Some(kind) = self.registry.kind(&claim.item.kind).cloned() else {
            // Only kinds of this registry were asked for; the claim lapses and another host takes the item.
            error!(item = %claim.item.id, kind = %claim.item.kind, "the store gave out a kind that was not asked for");
            return;
        };
        let context = context.clone();
        running.spawn(async move {
            attempt::run(&context, claim, &kind, sent, stop).await;
            drop(slot);
        });
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

fn report_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        error!(%error, "an attempt's supervisor failed; its lease will run out and the item runs again");
    }
}
