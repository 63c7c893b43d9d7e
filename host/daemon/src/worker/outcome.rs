//! What an ended attempt becomes: one pure decision.

use std::time::Duration;

use workhost_queue::{Json, Outcome};
use workhost_runtime::Ended;

/// Why an attempt is over.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cause {
    /// A fenced write said that another has the item.
    Lost,
    /// Half a lease passed without an answered heartbeat.
    SelfStopped,
    /// The guest ended by itself.
    Returned(Ended),
    /// It was asked to stop by a cancel or a shutdown and went on past the grace period.
    GraceOver,
    /// It took longer than its kind may.
    TimedOut(Duration),
    /// The item cannot be run: its payload or scope does not fit its kind.
    Refused(String),
}

/// What had been asked of the attempt when it ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    /// A cancel was requested.
    pub(super) cancel: bool,
    /// This host is going down.
    pub(super) shutdown: bool,
    /// The handler was told that its timeout is near.
    pub(super) deadline: Option<Duration>,
}

/// What to record; `None`: nothing may be written. The first rule that matches wins: lost, self-stopped,
/// cancelled, done, released, failed. A failure stays one, also after a cancel request or in a shutdown.
///
/// `retry` is how long to wait before the item is tried again if this is a failure; `None` where its kind has not opted
/// in or its retries are used up.
pub(super) fn decide(cause: Cause, asked: Asked, retry: Option<Duration>) -> Option<Outcome> {
    let can_pass = !matches!(cause, Cause::Refused(_) | Cause::Returned(Ended::Failed { permanent: true, .. }));
    match (ended(cause, asked)?, retry) {
        (Outcome::Failed { error }, Some(delay)) if can_pass && !asked.cancel => Some(Outcome::Retry { error, delay }),
        (outcome, _) => Some(outcome),
    }
}

/// What to record of an attempt that is not retried.
fn ended(cause: Cause, asked: Asked) -> Option<Outcome> {
    let outcome = match cause {
        Cause::Lost | Cause::SelfStopped => return None,
        Cause::Returned(Ended::Done(summary)) => match summary.as_deref().map(Json::storable).transpose() {
            Ok(summary) if asked.cancel => Outcome::Cancelled(summary),
            Ok(summary) => Outcome::Succeeded(summary),
            Err(error) => failed(format!("the handler's result is no JSON: {error}")),
        },
        Cause::Returned(Ended::Stopped(summary)) => match summary.as_deref().map(Json::storable).transpose() {
            Ok(summary) if asked.cancel => Outcome::Cancelled(summary),
            Ok(_) if asked.shutdown => Outcome::Released,
            Ok(_) => failed(match asked.deadline {
                Some(timeout) => format!("timeout of {}", humantime::format_duration(timeout)),
                None => "the handler stopped early though nobody asked it to".to_owned(),
            }),
            Err(error) => failed(format!("the handler's result is no JSON: {error}")),
        },
        Cause::GraceOver if asked.cancel => Outcome::Cancelled(None),
        Cause::GraceOver => Outcome::Released,
        Cause::Returned(Ended::Failed { message, .. }) => failed(message),
        Cause::Returned(Ended::Trapped { message }) => failed(message),
        Cause::Returned(Ended::Limit { limit }) => failed(limit),
        Cause::TimedOut(timeout) => failed(format!("timeout of {}", humantime::format_duration(timeout))),
        Cause::Refused(reason) => failed(reason),
    };
    Some(outcome)
}

fn failed(error: String) -> Outcome {
    Outcome::Failed { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Asked = Asked { cancel: false, shutdown: false, deadline: None };
    const CANCEL: Asked = Asked { cancel: true, ..NOTHING };
    const SHUTDOWN: Asked = Asked { shutdown: true, ..NOTHING };
    const BOTH: Asked = Asked { cancel: true, ..SHUTDOWN };
    const DEADLINE: Asked = Asked { deadline: Some(Duration::from_secs(60)), ..NOTHING };
    const ALL: [Asked; 5] = [NOTHING, CANCEL, SHUTDOWN, BOTH, DEADLINE];

    fn done() -> Cause {
        Cause::Returned(Ended::Done(Some("1".into())))
    }

    fn stopped() -> Cause {
        Cause::Returned(Ended::Stopped(Some("1".into())))
    }

    fn summary() -> Option<Json> {
        Some(Json::parse("1").unwrap())
    }

    fn decide(cause: Cause, asked: Asked) -> Option<Outcome> {
        super::decide(cause, asked, None)
    }

    fn is_failed(outcome: Option<Outcome>, text: &str) -> bool {
        matches!(outcome, Some(Outcome::Failed { error }) if error.contains(text))
    }

    #[test]
    fn a_lost_or_self_stopped_attempt_writes_nothing_whatever_was_asked() {
        for asked in ALL {
            assert_eq!(decide(Cause::Lost, asked), None);
            assert_eq!(decide(Cause::SelfStopped, asked), None);
        }
    }

    #[test]
    fn a_cancelled_attempt_that_is_done_stopped_or_ended_is_cancelled() {
        for asked in [CANCEL, BOTH] {
            assert_eq!(decide(done(), asked), Some(Outcome::Cancelled(summary())));
            assert_eq!(decide(stopped(), asked), Some(Outcome::Cancelled(summary())));
            assert_eq!(decide(Cause::GraceOver, asked), Some(Outcome::Cancelled(None)));
        }
    }

    #[test]
    fn done_is_succeeded_also_during_shutdown() {
        for asked in [NOTHING, SHUTDOWN, DEADLINE] {
            assert_eq!(decide(done(), asked), Some(Outcome::Succeeded(summary())));
        }
    }

    #[test]
    fn stopped_or_ended_by_a_shutdown_is_released() {
        assert_eq!(decide(stopped(), SHUTDOWN), Some(Outcome::Released));
        assert_eq!(decide(Cause::GraceOver, SHUTDOWN), Some(Outcome::Released));
    }

    #[test]
    fn stopping_when_nobody_asked_is_a_failure() {
        assert!(is_failed(decide(stopped(), NOTHING), "nobody asked"));
        assert!(is_failed(decide(stopped(), DEADLINE), "timeout of 1m"));
    }

    /// Every way to fail, with a part of its text.
    fn failures() -> [(Cause, &'static str); 8] {
        [
            (Cause::Returned(Ended::Failed { message: "no such user".into(), permanent: true }), "no such user"),
            (Cause::Returned(Ended::Failed { message: "mail server is away".into(), permanent: false }), "mail server"),
            (Cause::Returned(Ended::Trapped { message: "panicked".into() }), "panicked"),
            (Cause::Returned(Ended::Limit { limit: "memory limit of 64 MiB".into() }), "memory limit"),
            (Cause::TimedOut(Duration::from_secs(300)), "timeout of 5m"),
            (Cause::Refused("payload.age: is missing".into()), "payload.age"),
            (Cause::Returned(Ended::Done(Some("{".into()))), "no JSON"),
            (Cause::Returned(Ended::Stopped(Some("{".into()))), "no JSON"),
        ]
    }

    #[test]
    fn a_failure_stays_one_whatever_was_asked() {
        for (cause, text) in failures() {
            for asked in ALL {
                assert!(is_failed(decide(cause.clone(), asked), text), "{cause:?} {asked:?}");
            }
        }
    }

    #[test]
    fn a_failure_is_retried_where_the_kind_opted_in_and_no_cancel_was_requested() {
        let delay = Duration::from_secs(10);
        let retried = |cause: &Cause, asked| {
            let outcome = super::decide(cause.clone(), asked, Some(delay));
            matches!(outcome, Some(Outcome::Retry { delay: waited, .. }) if waited == delay)
        };
        for (cause, _) in failures() {
            let can_pass = !matches!(cause, Cause::Refused(_) | Cause::Returned(Ended::Failed { permanent: true, .. }));
            for asked in [NOTHING, SHUTDOWN, DEADLINE] {
                assert_eq!(retried(&cause, asked), can_pass, "{cause:?} {asked:?}");
            }
            assert!(!retried(&cause, CANCEL) && !retried(&cause, BOTH), "{cause:?}");
        }
        assert!(!retried(&done(), NOTHING) && !retried(&stopped(), SHUTDOWN));
    }
}
