//! Claims: takes what there are slots for, when woken, when a slot is freed, and every poll interval.

use std::sync::Arc;

use tokio::time::{Instant, sleep, sleep_until};
use tracing::info;
use workhost_queue::{Claim, ClaimRequest, Finish, Outcome, Result};

use super::Host;
use super::attempt::Attempt;
use super::stop::Stop;
use super::vigil::{Vigil, within};
use crate::fault::Fault;
use crate::registry::Registry;

/// What the claims of this host know of each other.
pub(super) struct Claims {
    /// Without heartbeats that are answered, whatever is claimed would only stall.
    heartbeats: Vigil,
    /// Until when the store may hold claims of this host that it has not heard of: an answer was lost, and a lease has not
    /// passed since.
    unheard_until: Option<Instant>,
}

impl Claims {
    pub(super) fn new(heartbeats: Vigil) -> Claims {
        Claims { heartbeats, unheard_until: None }
    }

    /// Claims and starts work until told to stop.
    pub(super) async fn run(&mut self, host: &Arc<Host>, mut stop: Stop, told: &Stop, vigil: &Vigil) {
        let wake = host.queue.wake();
        let mut reloads = host.registry.clone();
        while !stop.is_requested() {
            // The same for the whole pass: what it claims is run by the handlers that it was claimed for.
            let registry = reloads.borrow_and_update().clone();
            let passed = self.pass(host, &registry, &stop, told).await;
            host.report_panics();
            // A pass that asked for nothing tells nothing of the store.
            if !matches!(passed, Ok(false)) && vigil.tell(passed).is_none() {
                // Whatever wakes it meanwhile is kept: a store in trouble is not asked more often for that.
                tokio::select! {
                    () = stop.requested() => {}
                    () = sleep(host.retry_after()) => {}
                }
                continue;
            }
            let poll = Instant::now() + host.settings.poll_interval;
            let next = host.spacing.next().map_or(poll, |spaced| spaced.min(poll));
            tokio::select! {
                () = stop.requested() => {}
                () = wake.notified() => {}
                () = host.slots.freed() => {}
                Ok(()) = reloads.changed() => {}
                () = sleep_until(next) => {}
            }
        }
    }

    /// One pass. Answers whether it has shown that the store gives out claims.
    async fn pass(&mut self, host: &Arc<Host>, registry: &Registry, stop: &Stop, told: &Stop) -> Result<bool> {
        let unheard = self.unheard();
        if unheard {
            let sent = Instant::now();
            let claims = within(host.answer_within(), heard_late(host)).await?;
            start(host, registry, claims, sent, stop, told);
        }
        let (limit, kinds) = host.slots.free(registry, &host.spacing);
        if self.heartbeats.is_red() {
            return Ok(false);
        }
        if kinds.is_empty() {
            return Ok(unheard);
        }
        let request = ClaimRequest {
            host: host.owner.clone(),
            kinds,
            scopes: host.settings.scopes.clone(),
            limit,
            lease: host.settings.lease,
            last_chances: host.slots.last_chances(host.settings.max_stalls),
        };
        let before = self.unheard_until;
        self.unheard_until = Some(Instant::now() + host.answer_within() + 2 * host.settings.lease);
        let sent = Instant::now();
        let claims = within(host.answer_within(), host.queue.claim(&request)).await?;
        self.unheard_until = before;
        host.slots.asked_for(&request, &claims);
        start(host, registry, claims, sent, stop, told);
        Ok(true)
    }

    /// Hands back what was claimed without this host hearing of it. Asked once, at the end.
    pub(super) async fn hand_back_unheard(&mut self, host: &Host) {
        if self.unheard()
            && let Ok(claims) = heard_late(host).await
        {
            for claim in claims {
                hand_back(host, &claim).await;
            }
        }
    }

    fn unheard(&self) -> bool {
        self.unheard_until.is_some_and(|until| Instant::now() < until)
    }
}

/// Claims of this host whose answer was lost.
async fn heard_late(host: &Host) -> Result<Vec<Claim>> {
    let claims = host.queue.claimed(&host.owner, &host.attempts.known(), host.settings.lease).await?;
    if !claims.is_empty() {
        info!(items = claims.len(), "a claim was applied though its answer was lost: its items are run now");
    }
    Ok(claims)
}

/// Runs what was claimed beside the others. `sent` is when it was asked for.
fn start(host: &Arc<Host>, registry: &Registry, claims: Vec<Claim>, sent: Instant, stop: &Stop, told: &Stop) {
    for claim in claims {
        let (shared, told) = (host.clone(), told.clone());
        // A reload may have taken the kind away before this host heard of the claim.
        let kind = registry.kind(&claim.item.kind).filter(|_| !stop.is_requested()).cloned();
        let Some(kind) = kind else {
            info!(item = %claim.item.id, kind = claim.item.kind, "claimed, but not run any more: handed back");
            host.spawn(async move { hand_back(&shared, &claim).await });
            continue;
        };
        Fault::Claimed.reached(&kind.name);
        let slot = host.slots.take(&claim.item, host.settings.max_stalls);
        // Known from here on, so that it is not heard of a second time.
        let attempt = Attempt::begin(host, claim, kind, sent);
        host.spawn(async move {
            attempt.run(&shared, told).await;
            drop(slot);
        });
    }
}

/// Hands an item back that never began.
async fn hand_back(host: &Host, claim: &Claim) {
    host.finisher.record(Finish::new(claim.fence(), Outcome::Released)).await;
}
