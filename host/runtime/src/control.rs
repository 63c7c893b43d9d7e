//! What passes between a running attempt and its worker.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};

use crate::output::Tail;

/// The line between a worker and one running attempt: the wish to stop goes in, progress and the end
/// of the log come out.
///
/// After [`end`](Control::end), and once the time until which it may run is over, the guest has no effect any more: no
/// host call of it does anything, the progress stays as it is, and its code stops at the next epoch. What could not be
/// taken back by then is over once it has [`settled`](Control::settled).
#[derive(Debug, Default)]
pub struct Control {
    /// Until when it may run; without one, until it is ended.
    until: Mutex<Option<Instant>>,
    stop: Mutex<Option<StopReason>>,
    progress: Mutex<Option<(u64, Arc<str>)>>,
    log: Mutex<Tail>,
    ended: AtomicBool,
    over: Notify,
    /// How many effects are under way that nothing takes back.
    effects: watch::Sender<usize>,
}

/// Why an attempt is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The item was cancelled.
    CancelRequested,
    /// This host is going down.
    Shutdown,
    /// The kind's timeout is near.
    Deadline,
}

/// It came too late: the attempt was ended.
#[derive(Debug, thiserror::Error)]
#[error("the attempt was ended by the host")]
pub struct EndedByHost;

impl Control {
    /// The control of an attempt that runs and was not asked to stop.
    pub fn new() -> Self {
        Control::default()
    }

    /// Asks the attempt to stop. The first reason stays, except that a cancel takes the place of others.
    pub fn ask_to_stop(&self, reason: StopReason) {
        let mut stop = locked(&self.stop);
        if stop.is_none() || reason == StopReason::CancelRequested {
            *stop = Some(reason);
        }
    }

    /// Whether the attempt was asked to stop, and why.
    pub fn stop_asked(&self) -> Option<StopReason> {
        *locked(&self.stop)
    }

    /// Ends the attempt: from now on its guest changes nothing. There is no way back.
    pub fn end(&self) {
        // Under the lock of the progress, so that no snapshot arrives after this.
        let progress = locked(&self.progress);
        self.ended.store(true, Ordering::Release);
        drop(progress);
        self.over.notify_waiters();
    }

    /// Lets the attempt run until then, and no longer unless a later time is set before that. The guest itself is held to
    /// it: a process that stood still finds its guests ended, whichever of its threads goes on first.
    pub fn run_until(&self, until: Instant) {
        *locked(&self.until) = Some(until);
    }

    /// Whether the attempt was ended, or its time is over.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire) || self.until().is_some_and(|until| until <= Instant::now())
    }

    /// Waits until nothing is under way any more that could still have an effect: after the end, and after the guest is
    /// gone, nothing new begins. No longer than the limit of each such effect, a few seconds.
    pub async fn settled(&self) {
        // It cannot fail: the sender is this value's own.
        let _ = self.effects.subscribe().wait_for(|effects| *effects == 0).await;
    }

    /// Waits until an effect is under way.
    #[cfg(test)]
    pub(crate) async fn until_an_effect(&self) {
        self.effects.subscribe().wait_for(|effects| *effects > 0).await.unwrap();
    }

    fn until(&self) -> Option<Instant> {
        *locked(&self.until)
    }

    /// The newest progress snapshot (a JSON document) and its revision, from 1.
    pub fn progress(&self) -> Option<(u64, Arc<str>)> {
        locked(&self.progress).clone()
    }

    /// The end of what the attempt logged and printed until now, one line each with where it came from, for people:
    /// `stderr: …`, `warn: …`. Whole once the attempt's sandbox is gone.
    pub fn log_tail(&self) -> Option<String> {
        locked(&self.log).text()
    }

    /// Adds a line to the end of the log, of which `limit` bytes stay.
    pub(crate) fn log_line(&self, line: String, limit: usize) {
        locked(&self.log).push(line, limit);
    }

    /// Waits until the attempt was ended, or its time is over.
    pub(crate) async fn ended(&self) {
        loop {
            let mut over = std::pin::pin!(self.over.notified());
            // Registered before the question, so that an end in between is not missed.
            over.as_mut().enable();
            if self.is_ended() {
                return;
            }
            match self.until() {
                // It may have been put off meanwhile.
                Some(until) => drop(timeout_at(until, over).await),
                None => over.await,
            }
        }
    }

    /// The question that every host call with an effect asks first.
    pub(crate) fn alive(&self) -> Result<(), EndedByHost> {
        if self.is_ended() { Err(EndedByHost) } else { Ok(()) }
    }

    /// The question before an effect that nothing takes back once it has begun. The attempt's end waits for it as long as
    /// there is the answer.
    pub(crate) fn begin_effect(self: &Arc<Self>) -> Result<Effect, EndedByHost> {
        // Counted before the question. So an end that the question misses finds the count: both go through its lock.
        self.effects.send_modify(|effects| *effects += 1);
        let effect = Effect(self.clone());
        self.alive().map(|()| effect)
    }

    /// Takes a new progress snapshot, a JSON document.
    ///
    /// # Errors
    /// When the attempt was ended: the progress stays as it was.
    pub fn set_progress(&self, snapshot: Arc<str>) -> Result<(), EndedByHost> {
        let mut progress = locked(&self.progress);
        self.alive()?;
        let revision = progress.as_ref().map_or(0, |(revision, _)| *revision) + 1;
        *progress = Some((revision, snapshot));
        Ok(())
    }
}

/// An effect that is under way and that nothing takes back.
pub(crate) struct Effect(Arc<Control>);

impl Drop for Effect {
    fn drop(&mut self) {
        self.0.effects.send_modify(|effects| *effects -= 1);
    }
}

/// A panic elsewhere leaves these values whole, so a poisoned lock is used on.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;

    use super::*;

    #[test]
    fn the_first_reason_to_stop_stays_but_a_cancel_overrides() {
        let control = Control::new();
        assert_eq!(control.stop_asked(), None);
        control.ask_to_stop(StopReason::Shutdown);
        control.ask_to_stop(StopReason::Deadline);
        assert_eq!(control.stop_asked(), Some(StopReason::Shutdown));
        control.ask_to_stop(StopReason::CancelRequested);
        control.ask_to_stop(StopReason::Shutdown);
        assert_eq!(control.stop_asked(), Some(StopReason::CancelRequested));
    }

    #[test]
    fn progress_is_numbered_and_stays_as_it_is_once_ended() {
        let control = Control::new();
        assert!(control.progress().is_none());
        control.set_progress("1".into()).unwrap();
        control.set_progress("2".into()).unwrap();
        control.end();
        assert!(control.set_progress("3".into()).is_err());
        assert_eq!(control.progress(), Some((2, "2".into())));
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_whose_time_is_over_is_ended_unless_it_was_put_off() {
        let (control, second) = (Control::new(), Duration::from_secs(1));
        let start = Instant::now();
        control.run_until(start + second);
        let ended = async {
            control.ended().await;
            start.elapsed()
        };
        let put_off = async {
            tokio::time::sleep(second / 2).await;
            control.run_until(start + 3 * second);
        };
        let (ended_after, ()) = tokio::join!(ended, put_off);
        assert_eq!(ended_after, 3 * second);
        assert!(control.is_ended() && control.alive().is_err() && control.set_progress("1".into()).is_err());
    }

    #[tokio::test]
    async fn an_end_is_seen_by_those_who_wait_and_those_who_come_later() {
        let control = Arc::new(Control::new());
        let waiting = tokio::spawn({
            let control = control.clone();
            async move { control.ended().await }
        });
        tokio::task::yield_now().await;
        control.end();
        waiting.await.unwrap();
        control.ended().await;
    }

    #[tokio::test]
    async fn an_end_waits_for_the_effects_that_are_under_way_and_none_begins_after_it() {
        let control = Arc::new(Control::new());
        control.settled().await;
        let (first, second) = (control.begin_effect().unwrap(), control.begin_effect().unwrap());
        control.end();
        assert!(control.begin_effect().is_err());
        drop(first);
        assert!(control.settled().now_or_never().is_none());
        let ((), ()) = tokio::join!(control.settled(), async { drop(second) });
    }
}
