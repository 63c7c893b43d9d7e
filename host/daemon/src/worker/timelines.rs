//! The worker on paused time, with a store whose answers the test decides: what happens when, to the millisecond.
//!
//! Each test runs a worker with the default settings (a heartbeat each 2 s, a lease of 60 s, graces of 10 s) for a while and
//! compares its whole diary, or all lines of some sort.

mod claiming;
mod diary;
mod ending;
mod guest;
mod loops;
mod recording;
mod store;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::sleep;
use workhost_admin::Readiness;
use workhost_queue::Schedule;

use super::{StopSwitch, Worker};
use crate::config;
use crate::registry::{ItemRule, Kind, PayloadSchema, Registry};
use diary::Diary;
use guest::Guest;
use store::{Answer, Store};

/// A worker, its store and its guests, all under control.
struct Timeline {
    store: Arc<Store>,
    diary: Arc<Diary>,
    readiness: Readiness,
    settings: config::Worker,
    kinds: BTreeMap<String, Arc<Kind>>,
}

impl Timeline {
    fn new() -> Timeline {
        let diary = Arc::new(Diary::new());
        Timeline {
            store: Arc::new(Store::new(diary.clone())),
            diary,
            readiness: Readiness::default(),
            settings: config::Worker { slots: 4, ..config::Worker::default() },
            kinds: BTreeMap::new(),
        }
    }

    /// A worker that has one kind, `work`, and one item of it to claim, run by this guest.
    fn of(guest: Guest) -> Timeline {
        let timeline = Timeline::new().with("work", "", guest);
        timeline.store.has("work", 1);
        timeline
    }

    /// Adds a kind with these settings, all run by this guest.
    fn with(mut self, kind: &str, settings: &str, guest: Guest) -> Timeline {
        let schema = PayloadSchema::compile(&json!(true)).unwrap();
        let mut settings: config::KindSettings = toml::from_str(settings).unwrap();
        settings.schedule = settings.every.map(Schedule::Every);
        let kind = Kind {
            name: kind.to_owned(),
            rule: Arc::new(ItemRule { scope: settings.scope, schema }),
            settings,
            digest: "sha256:00".to_owned(),
            handler: guest.with(self.diary.clone()),
        };
        self.kinds.insert(kind.name.clone(), Arc::new(kind));
        self
    }

    fn worker(&self) -> Worker {
        let registry = Registry::of(Vec::new(), self.kinds.clone());
        Worker {
            queue: self.store.clone(),
            registry: watch::channel(Arc::new(registry)).1,
            settings: self.settings.clone(),
            owner: "host/1".to_owned(),
            guests: Handle::current(),
            readiness: self.readiness.clone(),
        }
    }

    /// Runs the worker for so long, and answers its diary.
    async fn run_for(&self, time: Duration) -> Vec<String> {
        let (_switch, stop) = StopSwitch::new();
        tokio::select! {
            () = self.worker().run(stop) => panic!("it ended by itself"),
            () = sleep(time) => {}
        }
        self.diary.lines()
    }

    /// Runs the worker, tells it to stop after so long, and answers its diary, which ends with the worker's end.
    async fn stop_after(&self, time: Duration) -> Vec<String> {
        let (switch, stop) = StopSwitch::new();
        let stopping = async {
            sleep(time).await;
            self.diary.note("stop");
            switch.stop();
        };
        tokio::join!(self.worker().run(stop), stopping);
        self.diary.note("end");
        self.diary.lines()
    }

    /// Does something to the store at a time.
    fn at(&self, time: Duration, action: impl FnOnce(&Store) + Send + 'static) {
        let store = self.store.clone();
        tokio::spawn(async move {
            sleep(time).await;
            action(&store);
        });
    }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Those lines of a diary that say one of these words.
fn only<'d>(diary: &'d [String], words: &[&str]) -> Vec<&'d str> {
    let said = |line: &&str| words.iter().any(|word| line.contains(word));
    diary.iter().map(String::as_str).filter(said).collect()
}

/// Lines in the order of their times, and of their words where those are the same.
fn sorted(mut lines: Vec<&str>) -> Vec<&str> {
    lines.sort_by_key(|line| {
        let (at, what) = line.split_once(' ').unwrap();
        (at.parse::<u64>().unwrap(), what.to_owned())
    });
    lines
}
