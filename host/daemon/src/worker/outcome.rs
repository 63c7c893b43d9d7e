//! What an ended attempt becomes: one pure decision.

use std::time::Duration;

use workhost_queue::{Json, Outcome};
use workhost_runtime::Ended;

/// Why the worker did not wait for the handler any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brake {
    /// A fenced write said that another has the item.
    Lost,
    /// Half a lease passed without an answered heartbeat.
    SelfStopped,
    /// It was asked to stop by a cancel or a shutdown and went on past the grace period.
    GraceOver,
    /// It took longer than its kind may.
    TimedOut,
}

/// What had been asked of the attempt when it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// A cancel was requested.
    pub(super) cancel: bool,
    /// This host is going down.
    pub(super) shutdown: bool,
    /// The handler was told that its timeout is near.
    pub(super) deadline: bool,
}

/// An attempt that is over.
#[derive(Clone, Debug)]
pub(super) struct Over {
    /// What the worker ended it for; none if its handler returned before.
    pub(super) brake: Option<Brake>,
    /// How the handler ended. It may have returned just as it was ended.
    pub(super) handler: Ended,
    /// What had been asked of it.
    pub(super) asked: Asked,
}

/// What to record; `None`: nothing may be written. The first rule that matches wins.
///
/// `timeout` is how long an attempt of its kind may take, `retry` how long to wait before the item is tried again if this
/// is a failure; `None` where its kind has not opted in or its retries are used up.
pub(super) fn decide(over: Over, timeout: Duration, retry: Option<Duration>) -> Option<Outcome> {
    let Over { brake, handler, asked } = over;
    let grace_over = brake == Some(Brake::GraceOver);
    match (brake, handler) {
        (Some(Brake::Lost | Brake::SelfStopped), _) => None,
        // A host call of the guest was told so first.
        (None, Ended::ByHost) => None,
        (_, Ended::Done(summary) | Ended::Stopped(summary)) if asked.cancel => {
            Some(summarised(summary, Outcome::Cancelled))
        }
        (_, Ended::ByHost) if asked.cancel && grace_over => Some(Outcome::Cancelled(None)),
        (_, Ended::Done(summary)) => Some(summarised(summary, Outcome::Succeeded)),
        (_, Ended::Stopped(summary)) if asked.shutdown => Some(summarised(summary, |_| Outcome::Released)),
        (_, Ended::ByHost) if asked.shutdown && grace_over => Some(Outcome::Released),
        (_, handler) => Some(failed(handler, asked, timeout, retry)),
    }
}

/// An attempt that has a summary, unless it is none that can be kept.
fn summarised(summary: Option<String>, outcome: impl Fn(Option<Json>) -> Outcome) -> Outcome {
    match summary.as_deref().map(Json::storable).transpose() {
        Ok(summary) => outcome(summary),
        Err(error) => Outcome::Failed { error: format!("the handler's result is no JSON: {error}") },
    }
}

/// A failure stays one, also after a cancel request or in a shutdown. An item whose cancel was requested is not retried.
fn failed(handler: Ended, asked: Asked, timeout: Duration, retry: Option<Duration>) -> Outcome {
    let timed_out = || format!("timeout of {}", humantime::format_duration(timeout));
    let (error, can_pass) = match handler {
        Ended::Failed { message, permanent } => (message, !permanent),
        Ended::Trapped { message } => (message, true),
        Ended::Limit { limit } => (limit, true),
        Ended::Stopped(_) if !asked.deadline => ("the handler stopped early though nobody asked it to".into(), true),
        Ended::Stopped(_) | Ended::ByHost | Ended::Done(_) => (timed_out(), true),
    };
    match retry {
        Some(delay) if can_pass && !asked.cancel => Outcome::Retry { error, delay },
        _ => Outcome::Failed { error },
    }
}

#[cfg(test)]
mod tests;
