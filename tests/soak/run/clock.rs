//! How far the soak is, and the time of day that hosts, guests and stores of one machine share.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::watch;
use tokio::time::{sleep, sleep_until};

use super::Scene;
use super::book::{Deed, What};
use super::plan::{LEASE, Plan};

/// When the load begins and ends.
pub(crate) struct Clock {
    pub(crate) begun: Instant,
    began_load: OnceLock<Instant>,
    ends_load: Instant,
    ended_early: watch::Sender<bool>,
}

impl Clock {
    pub(crate) fn start(begun: Instant, plan: &Plan) -> Clock {
        Clock {
            begun,
            began_load: OnceLock::new(),
            ends_load: begun + plan.load(),
            ended_early: watch::Sender::new(false),
        }
    }

    pub(crate) fn load_begins(&self) {
        self.began_load.get_or_init(Instant::now);
    }

    /// How much of the load's time is over, from 0 to 1.
    pub(crate) fn share(&self) -> f64 {
        let Some(began) = self.began_load.get() else { return 0.0 };
        let all = self.ends_load.saturating_duration_since(*began).as_secs_f64();
        (began.elapsed().as_secs_f64() / all.max(1.0)).min(1.0)
    }

    /// Ends the load before its time: there is no use in going on.
    pub(crate) fn end_load(&self) {
        self.ended_early.send_replace(true);
    }

    pub(crate) fn load_goes_on(&self) -> bool {
        Instant::now() < self.ends_load && !*self.ended_early.borrow()
    }

    /// Waits so long, or until the load ends. Answers whether it goes on.
    pub(crate) async fn wait(&self, long: Duration) -> bool {
        let mut ended = self.ended_early.subscribe();
        tokio::select! {
            () = sleep(long) => {}
            () = sleep_until(self.ends_load.into()) => {}
            _ = ended.wait_for(|ended| *ended) => {}
        }
        self.load_goes_on()
    }
}

/// Milliseconds since 1970, as the diary's guests and both stores tell them.
pub(crate) fn now_ms() -> i64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Notes when the whole machine stood still, as virtual ones do: no host can keep a lease then.
pub(crate) async fn watch_for_standstills(scene: Arc<Scene>) {
    const TICK: Duration = Duration::from_millis(50);
    loop {
        let (before, at_ms) = (Instant::now(), now_ms());
        sleep(TICK).await;
        if before.elapsed() > LEASE / 4 {
            scene.book.done(Deed { host: None, what: What::Standstill, from_ms: at_ms, to_ms: now_ms() });
        }
    }
}
