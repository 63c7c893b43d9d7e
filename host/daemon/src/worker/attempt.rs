//! One attempt: a guest, and everything that may end it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep_until};
use tracing::{Instrument, error, info, info_span, warn};
use workhost_queue::{Claim, Finish, Outcome, Recorded, WorkItem};
use workhost_runtime::{Control, Ended, Job, StopReason};

use super::Host;
use super::attempts::{Registration, Vital};
use super::outcome::{Asked, Brake, Over, decide};
use super::retry::RetryPolicy;
use super::stop::Stop;
use crate::fault::Fault;
use crate::registry::Kind;

/// A claimed item that this host runs. It is reported alive from the moment that there is this value.
pub(super) struct Attempt {
    item: WorkItem,
    kind: Arc<Kind>,
    control: Arc<Control>,
    registration: Registration,
    vital: watch::Receiver<Vital>,
}

impl Attempt {
    /// `sent` is when the claim was asked for.
    pub(super) fn begin(host: &Host, claim: Claim, kind: Arc<Kind>, sent: Instant) -> Attempt {
        let control = Arc::new(Control::new());
        let (registration, vital) = host.attempts.register(claim.fence(), control.clone(), sent);
        Attempt { item: claim.item, kind, control, registration, vital }
    }

    /// Runs it to its end and records that.
    pub(super) async fn run(mut self, host: &Host, stop: Stop) {
        let span = info_span!("attempt", item = %self.item.id, kind = %self.kind.name, attempt = self.item.attempt);
        async {
            info!(scope = self.item.scope, "started");
            Fault::Started.reached(&self.kind.name);
            let began = Instant::now();
            let over = self.supervise(host, stop).await;
            let brake = over.brake;
            let settings = &self.kind.settings;
            let retry = RetryPolicy::of(settings).delay(self.item.failures, rand::random());
            match decide(over, settings.timeout, retry) {
                None => {
                    self.registration.give_up();
                    log_given_up(brake);
                }
                Some(outcome) => {
                    host.space(&self.kind.name, &outcome, began.elapsed());
                    self.record(host, outcome).await;
                }
            }
        }
        .instrument(span)
        .await;
    }

    /// Watches over the guest until it has ended, by itself or by force. When this returns no guest code runs.
    async fn supervise(&mut self, host: &Host, mut stop: Stop) -> Over {
        let settings = &host.settings;
        let timeout = self.kind.settings.timeout;
        let began = Instant::now();
        let (mut asked, mut grace_over) = (Asked::default(), None);
        let mut guest = host.guests.spawn(guest(self.item.clone(), self.kind.clone(), self.control.clone()));
        let brake = loop {
            let Vital { answered, cancel_requested, lost } = *self.vital.borrow_and_update();
            if lost {
                break Brake::Lost;
            }
            if cancel_requested && !asked.cancel {
                asked.cancel = true;
                grace_over = self.ask(StopReason::CancelRequested, grace_over, settings.cancel_grace);
            }
            tokio::select! {
                biased;
                Ok(()) = self.vital.changed() => Fault::Beaten.reached(&self.kind.name),
                () = sleep_until(answered + host.attempts.self_stop()) => break Brake::SelfStopped,
                ended = &mut guest => {
                    let handler = returned(ended);
                    // The sandbox may have seen that its time is over before this did.
                    let overdue = handler == Ended::ByHost && Instant::now() >= answered + host.attempts.self_stop();
                    return Over { brake: overdue.then_some(Brake::SelfStopped), handler, asked };
                }
                () = stop.requested(), if !asked.shutdown => {
                    asked.shutdown = true;
                    grace_over = self.ask(StopReason::Shutdown, grace_over, settings.shutdown_grace);
                }
                () = until(grace_over) => break Brake::GraceOver,
                () = sleep_until(began + timeout - settings.cancel_grace.min(timeout / 2)), if !asked.deadline => {
                    asked.deadline = true;
                    self.ask(StopReason::Deadline, None, Duration::MAX);
                }
                () = sleep_until(began + timeout) => break Brake::TimedOut,
            }
        };
        Over { brake: Some(brake), handler: end(&self.control, guest).await, asked }
    }

    /// Asks the guest to stop, and answers when its grace is over: the earlier of the two.
    fn ask(&self, reason: StopReason, other: Option<Instant>, grace: Duration) -> Option<Instant> {
        self.control.ask_to_stop(reason);
        Fault::Asked.reached(&self.kind.name);
        let over = Instant::now().checked_add(grace);
        other.into_iter().chain(over).min()
    }

    /// Writes the outcome, again and again until it is answered; gives up when half a lease has passed without
    /// a heartbeat. What heartbeats say of the item meanwhile does not count: it is finished as soon as the write
    /// is applied, and only the answer to the write tells whose write it was.
    async fn record(&mut self, host: &Host, outcome: Outcome) {
        Fault::Returned.reached(&self.kind.name);
        let finish = Finish {
            progress: self.registration.unstored_progress(),
            log_tail: self.control.log_tail(),
            ..Finish::new(self.registration.fence(), outcome.clone())
        };
        let recorded = host.finisher.record(finish);
        tokio::pin!(recorded);
        loop {
            let answered = self.vital.borrow_and_update().answered;
            tokio::select! {
                biased;
                answer = &mut recorded => {
                    Fault::Recorded.reached(&self.kind.name);
                    return match answer {
                        Recorded::Recorded => log(&outcome),
                        _ => warn!("lost: the item was taken away before its end could be recorded"),
                    };
                }
                Ok(()) = self.vital.changed() => {}
                () = sleep_until(answered + host.attempts.self_stop()) => {
                    self.registration.give_up();
                    return warn!("self-stopped: its end could not be recorded within half a lease");
                }
            }
        }
    }
}

/// Checks the item and runs its guest.
async fn guest(item: WorkItem, kind: Arc<Kind>, control: Arc<Control>) -> Ended {
    let job = Job {
        id: item.id.0.unsigned_abs(),
        kind: item.kind,
        scope: item.scope.clone(),
        attempt: item.attempt,
        payload: item.payload.as_str().to_owned(),
        resume_from: item.progress.as_ref().map(|progress| progress.as_str().to_owned()),
    };
    // On a thread of its own: a schema is the handler's, and can make a check last. The attempt's timeout ends the wait.
    let rule = kind.rule.clone();
    let check =
        tokio::task::spawn_blocking(move || rule.check(item.scope.as_deref(), &item.payload.to_value(), &mut 0));
    match check.await {
        Ok(Ok(())) => kind.handler.run(job, control).await,
        Ok(Err(message)) => Ended::Failed { message, permanent: true },
        Err(error) => Ended::Failed { message: format!("its payload could not be checked: {error}"), permanent: true },
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Ends the guest by force: a spinning one meets the epoch, a waiting one is dropped. It may just have returned.
pub(super) async fn end(control: &Control, guest: JoinHandle<Ended>) -> Ended {
    control.end();
    guest.abort();
    // Waits until the sandbox is gone, so that nothing runs once the end is recorded.
    let ended = match guest.await {
        Err(error) if error.is_cancelled() => Ended::ByHost,
        ended => returned(ended),
    };
    // And until what it had begun and nothing takes back has taken effect or failed.
    control.settled().await;
    ended
}

fn returned(ended: Result<Ended, JoinError>) -> Ended {
    ended.unwrap_or_else(|error| {
        error!(%error, "the host failed while it ran a guest");
        let message = format!("workhost itself failed while it ran the handler: {error}");
        Ended::Failed { message, permanent: false }
    })
}

fn log_given_up(brake: Option<Brake>) {
    match brake {
        Some(Brake::SelfStopped) => {
            warn!(
                "self-stopped: for half a lease no heartbeat of it was answered, because the store was away or its row locked; nothing is written, its lease runs out"
            );
        }
        _ => warn!("lost: another attempt has the item, or it was taken away; nothing is written"),
    }
}

fn log(outcome: &Outcome) {
    // The whole text, a backtrace for example, is with the item.
    let first_line = |error: &String| error.lines().next().unwrap_or_default().to_owned();
    match outcome {
        // What its handler did. Where a cancel was requested meanwhile, the store has made it a cancelled item.
        Outcome::Succeeded(_) => info!("done"),
        Outcome::Cancelled(_) => info!("cancelled"),
        Outcome::Released => info!("handed back to the queue"),
        Outcome::Failed { error } => warn!(error = first_line(error), "failed"),
        Outcome::Retry { error, delay } => warn!(error = first_line(error), ?delay, "failed; to be tried again"),
    }
}
