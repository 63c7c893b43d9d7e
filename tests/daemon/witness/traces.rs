//! The traces that guests left, and what must be true of them.

use std::time::{Duration, Instant, SystemTime};

use time::OffsetDateTime;
use workhost_queue::{ItemId, WorkItem};

use super::stage::{Cast, Stage};
use crate::harness::*;

/// SQLite's times are rounded to milliseconds.
const ROUNDING: Duration = Duration::from_millis(1);

/// How long nothing may happen for it to count as nothing.
const SILENCE: Duration = Duration::from_millis(500);

/// One line of a guest's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trace {
    pub(super) attempt: u32,
    pub(super) number: u64,
    /// By the guest's clock, just before it left it.
    pub(super) at: OffsetDateTime,
    pub(super) what: String,
}

/// How much there is of an item's first attempt: lines, requests, rows.
type Amount = (usize, usize, usize);

impl Stage<'_> {
    /// The lines of the item's file, in their order.
    pub(super) fn traces(&self, id: ItemId) -> Vec<Trace> {
        let file = std::fs::read_to_string(self.w.path(format!("out/{id}"))).unwrap_or_default();
        // The last one may be half written while a test looks.
        let whole = file.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let traces = whole.lines().map(|line| {
            let [attempt, number, at, what] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
            let at = OffsetDateTime::UNIX_EPOCH + Duration::from_millis(at.parse().unwrap());
            Trace { attempt: attempt.parse().unwrap(), number: number.parse().unwrap(), at, what: what.to_owned() }
        });
        traces.collect()
    }

    /// The trace that says this, if it was left.
    pub(super) fn trace(&self, id: ItemId, what: &str) -> Option<Trace> {
        self.traces(id).into_iter().find(|trace| trace.what == what)
    }

    pub(super) async fn until_traces(&self, id: ItemId, traces: usize) {
        self.until(|| self.traces(id).len() >= traces, &format!("{traces} traces of item {id}")).await;
    }

    pub(super) async fn until_trace(&self, id: ItemId, what: &str) -> Trace {
        self.until(|| self.trace(id, what).is_some(), &format!("the trace {what} of item {id}")).await;
        self.trace(id, what).unwrap()
    }

    pub(super) async fn until(&self, is: impl Fn() -> bool, what: &str) {
        let start = Instant::now();
        while !is() {
            assert!(start.elapsed() < PATIENCE, "{what} did not come\n{}", self.w.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// No trace of this attempt is later than that, in the file or the table. Requests have no time that could be trusted.
    pub(super) async fn none_after(&self, cast: &Cast, attempt: u32, end: OffsetDateTime) {
        let (end, name) = (end + ROUNDING, cast.name);
        let traces: Vec<_> = self.traces(cast.id).into_iter().filter(|trace| trace.attempt == attempt).collect();
        let last = traces.last().unwrap();
        assert!(last.at <= end, "{name}: left {last:?} after {end}");
        let written: OffsetDateTime = self.changed(cast.id).into();
        assert!(self.traces(cast.id).len() > traces.len() || written <= end, "{name}: wrote at {written}, after {end}");
        let late = self.count(&format!("at > {}", end.unix_timestamp_nanos() / 1000), cast.id).await;
        assert_eq!(late, 0, "{name}: inserted {late} rows after {end}");
    }

    /// When the item's file was last written.
    fn changed(&self, id: ItemId) -> SystemTime {
        std::fs::metadata(self.w.path(format!("out/{id}"))).unwrap().modified().unwrap()
    }

    /// Nothing comes any more of first attempts that have ended.
    pub(super) async fn silence(&self, cast: &[Cast]) {
        let (start, mut before) = (Instant::now(), Vec::new());
        // What they had sent before their end may be read after it.
        while before != self.amounts(cast).await {
            assert!(start.elapsed() < PATIENCE, "some go on after their end: {before:?}\n{}", self.w.log());
            before = self.amounts(cast).await;
            tokio::time::sleep(SILENCE / 5).await;
        }
        tokio::time::sleep(SILENCE).await;
        for ((before, after), cast) in before.iter().zip(self.amounts(cast).await).zip(cast) {
            assert_eq!(*before, after, "{}: goes on after its end\n{}", cast.name, self.w.log());
        }
    }

    async fn amounts(&self, cast: &[Cast]) -> Vec<Amount> {
        let requests = self.server.requests();
        let mut amounts = Vec::new();
        for Cast { id, .. } in cast {
            let lines = self.traces(*id).iter().filter(|trace| trace.attempt == 1).count();
            let sent = requests.iter().filter(|request| request.line.contains(&format!("/trace/{id}/"))).count();
            amounts.push((lines, sent, self.count("true", *id).await));
        }
        amounts
    }

    /// The number of the item's rows for which this holds.
    pub(super) async fn count(&self, condition: &str, id: ItemId) -> usize {
        let rows = format!("select cast(number as text) from traces where item = {id} and {condition}");
        self.w.app.texts(&rows).await.len()
    }

    /// The recorded progress is the newest that the guest reported: that of its last trace, or of the one before if it was
    /// ended in between.
    pub(super) fn progress_is_the_newest(&self, cast: &Cast, item: &WorkItem) {
        let last = self.traces(cast.id).last().unwrap().number;
        let kept = progress(item).as_u64().unwrap_or_default();
        assert!(kept == last || kept + 1 == last, "{}: progress {kept} is kept, {last} was left", cast.name);
    }

    /// All that the guest reported is recorded.
    pub(super) fn progress_is_the_last(&self, id: ItemId, item: &WorkItem) {
        assert_eq!(progress(item).as_u64(), self.traces(id).last().map(|trace| trace.number), "{item:#?}");
    }
}
