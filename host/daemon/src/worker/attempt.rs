//! One attempt: a guest, and everything that may end it.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tracing::{Instrument, error, info, info_span, warn};
use workhost_queue::{Claim, Finish, Outcome, Recorded, WorkItem};
use workhost_runtime::{Control, Ended, Job, StopReason};

use super::attempts::{Attempts, Vital};
use super::finisher::Finisher;
use super::outcome::{Asked, Cause, decide};
use super::retry::RetryPolicy;
use super::stop::Stop;
use crate::config;
use crate::fault::Fault;
use crate::registry::Kind;

/// What an attempt needs of its host.
pub(super) struct Context {
    pub(super) guests: Handle,
    pub(super) settings: config::Worker,
    pub(super) attempts: Arc<Attempts>,
    pub(super) finisher: Finisher,
}

/// Runs a claimed item to its end and records that. `sent` is when the claim was sent.
pub(super) async fn run(context: &Context, claim: Claim, kind: &Arc<Kind>, sent: Instant, stop: Stop) {
    let fence = claim.fence();
    let span = info_span!("attempt", item = %fence.id, kind = %kind.name, attempt = fence.attempt);
    async {
        let control = Arc::new(Control::new());
        let (registration, mut vital) = context.attempts.register(fence, control.clone(), sent);
        info!(scope = claim.item.scope, "started");
        Fault::Started.reached(&kind.name);
        let mut asked = Asked::default();
        let failures = claim.item.failures;
        let cause = supervise(context, claim.item, kind, &control, &mut vital, &mut asked, stop).await;
        if let Cause::Lost | Cause::SelfStopped = cause {
            warn!(?cause, "ended without a word to the store: the item is another's, or will be");
            return;
        }
        let retry = RetryPolicy::of(&kind.settings).delay(failures, rand::random());
        let Some(outcome) = decide(cause, asked, retry) else { return };
        Fault::Returned.reached(&kind.name);
        let finish = Finish {
            progress: registration.unstored_progress(),
            log_tail: control.log_tail(),
            ..Finish::new(fence, outcome.clone())
        };
        record(context, finish, &mut vital, &outcome).await;
        Fault::Recorded.reached(&kind.name);
    }
    .instrument(span)
    .await;
}

/// Checks the item and runs its guest. The error is why the item does not fit its kind.
async fn guest(item: WorkItem, kind: Arc<Kind>, control: Arc<Control>) -> Result<Ended, String> {
    let job = job(&item)?;
    // On a thread of its own: a schema is the handler's, and can make a check last. The attempt's timeout ends the wait.
    let checked = kind.clone();
    let check = tokio::task::spawn_blocking(move || {
        checked.rule.check(item.scope.as_deref(), &item.payload.to_value(), &mut 0)
    });
    check.await.unwrap_or_else(|error| Err(format!("its payload could not be checked: {error}")))?;
    Ok(kind.handler.run(job, control).await)
}

/// What the guest gets; an item that does not fit its kind is refused before the guest starts.
fn job(item: &WorkItem) -> Result<Job, String> {
    Ok(Job {
        id: u64::try_from(item.id.0).map_err(|_| format!("item id {} is negative", item.id))?,
        kind: item.kind.clone(),
        scope: item.scope.clone(),
        attempt: item.attempt,
        payload: item.payload.as_str().to_owned(),
        resume_from: item.progress.as_ref().map(|progress| progress.as_str().to_owned()),
    })
}

/// Watches over the guest until it has ended, by itself or by force. When this returns no guest code runs.
async fn supervise(
    context: &Context,
    item: WorkItem,
    kind: &Arc<Kind>,
    control: &Arc<Control>,
    vital: &mut watch::Receiver<Vital>,
    asked: &mut Asked,
    mut stop: Stop,
) -> Cause {
    let Context { settings, guests, .. } = context;
    let mut guest = guests.spawn(guest(item, kind.clone(), control.clone()));
    let timeout = kind.settings.timeout;
    let timed_out = Instant::now() + timeout;
    let deadline = timed_out - settings.cancel_grace.min(timeout / 2);
    let mut grace_over: Option<Instant> = None;
    let claimed = vital.borrow().answered;
    let cause = loop {
        let Vital { answered, cancel_requested, lost } = *vital.borrow_and_update();
        if answered > claimed {
            Fault::Beaten.reached(&kind.name);
        }
        if lost {
            break Cause::Lost;
        }
        if cancel_requested && !asked.cancel {
            asked.cancel = true;
            ask(control, kind, StopReason::CancelRequested);
            grace_over = Some(earlier(grace_over, settings.cancel_grace));
        }
        tokio::select! {
            biased;
            Ok(()) = vital.changed() => {}
            () = sleep_until(answered + settings.lease / 2) => break Cause::SelfStopped,
            ended = &mut guest => return match ended.unwrap_or_else(host_failed) {
                Ok(ended) => Cause::Returned(ended),
                Err(reason) => Cause::Refused(reason),
            },
            () = stop.requested(), if !asked.shutdown => {
                asked.shutdown = true;
                ask(control, kind, StopReason::Shutdown);
                grace_over = Some(earlier(grace_over, settings.shutdown_grace));
            }
            () = sleep_until(grace_over.unwrap_or(timed_out)), if grace_over.is_some() => break Cause::GraceOver,
            () = sleep_until(deadline), if asked.deadline.is_none() => {
                asked.deadline = Some(timeout);
                ask(control, kind, StopReason::Deadline);
            }
            () = sleep_until(timed_out) => break Cause::TimedOut(timeout),
        }
    };
    end(control, guest).await;
    cause
}

fn ask(control: &Control, kind: &Kind, reason: StopReason) {
    control.ask_to_stop(reason);
    Fault::Asked.reached(&kind.name);
}

fn earlier(other: Option<Instant>, grace: std::time::Duration) -> Instant {
    let over = Instant::now() + grace;
    other.map_or(over, |other| other.min(over))
}

/// Ends the guest by force. A spinning one meets the epoch, a waiting one is dropped.
async fn end(control: &Control, guest: JoinHandle<Result<Ended, String>>) {
    control.end();
    guest.abort();
    // Waits until the sandbox is gone, so that nothing runs once the end is recorded.
    let _ = guest.await;
}

fn host_failed(error: tokio::task::JoinError) -> Result<Ended, String> {
    error!(%error, "the host failed while it ran a guest");
    let message = format!("workhost itself failed while it ran the handler: {error}");
    Ok(Ended::Failed { message, permanent: false })
}

/// Writes the outcome, again and again until it is answered; gives up when half a lease has passed without
/// a heartbeat. What heartbeats say of the item meanwhile does not count: it is finished as soon as the write
/// is applied, and only the answer to the write tells whose write it was.
async fn record(context: &Context, finish: Finish, vital: &mut watch::Receiver<Vital>, outcome: &Outcome) {
    let recorded = context.finisher.record(finish);
    tokio::pin!(recorded);
    loop {
        let answered = vital.borrow_and_update().answered;
        tokio::select! {
            biased;
            answer = &mut recorded => return match answer {
                Recorded::Recorded => log(outcome),
                _ => warn!("the item was lost before its end could be recorded"),
            },
            Ok(()) = vital.changed() => {}
            () = sleep_until(answered + context.settings.lease / 2) => {
                return warn!("self-stopped: the end could not be recorded within half a lease");
            }
        }
    }
}

fn log(outcome: &Outcome) {
    // The whole text, a backtrace for example, is with the item.
    let first_line = |error: &String| error.lines().next().unwrap_or_default().to_owned();
    match outcome {
        Outcome::Succeeded(_) => info!("succeeded"),
        Outcome::Cancelled(_) => info!("cancelled"),
        Outcome::Released => info!("handed back to the queue"),
        Outcome::Failed { error } => warn!(error = first_line(error), "failed"),
        Outcome::Retry { error, delay } => warn!(error = first_line(error), ?delay, "failed; to be tried again"),
    }
}
