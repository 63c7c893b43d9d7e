//! A story that could have happened.

use time::OffsetDateTime;
use workhost_queue::{AttemptRecord, CancelAnswer, ItemId, Json, Status, WorkItem};

use crate::run::book::{Cancel, Deed, Enqueued, Pages, What};
use crate::run::footprint::Footprint;
use crate::run::oracle::Kept;

pub(super) struct Story {
    pub(super) pages: Pages,
    pub(super) kept: Vec<Kept>,
    pub(super) diary: Vec<String>,
}

/// So many milliseconds into the story.
pub(super) fn at(ms: i64) -> i64 {
    1_000_000 + ms
}

pub(super) fn time(ms: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(at(ms)) * 1_000_000).unwrap()
}

impl Story {
    /// The host `brisk` is killed amid the first attempt of item 1, which `steady` then does. Item 2 of the same scope has
    /// to wait for that. Item 3 is called off, item 4 fails, and items 5 and 6 are of the kind with one slot.
    pub(super) fn sound() -> Story {
        let mut first = item(1, "diary-scoped", Status::Succeeded, 20_000, 20_900);
        (first.item.attempt, first.item.stalls, first.item.scope) = (2, 1, Some("s0".to_owned()));
        first.item.result = Some(serde_json::json!({ "attempt": 2 }).into());
        first.attempts = vec![record(1, "brisk/1", 10_000, 18_000, "stalled", None)];
        let mut second = item(2, "diary-scoped", Status::Succeeded, 20_950, 21_050);
        second.item.scope = Some("s0".to_owned());
        let mut third = item(3, "diary", Status::Cancelled, 30_000, 30_200);
        third.item.cancel_requested_at = Some(time(30_020));
        third.attempts = vec![record(1, "steady/1", 30_000, 30_200, "cancelled", None)];
        let mut fourth = item(4, "fail", Status::Failed, 40_000, 40_100);
        (fourth.item.failures, fourth.item.payload) = (1, serde_json::json!({ "permanent": true }).into());
        fourth.attempts = vec![record(1, "steady/1", 40_000, 40_100, "failed", Some("as its payload says"))];
        let fifth = item(5, "diary-single", Status::Succeeded, 50_000, 50_500);
        let sixth = item(6, "diary-single", Status::Succeeded, 50_100, 51_000);
        let kept = vec![first, second, third, fourth, fifth, sixth];
        let enqueued =
            kept.iter().map(|Kept { item, .. }| Enqueued { id: item.id.0, kind: item.kind.clone(), created: true });
        let (from_ms, to_ms) = (at(12_000), at(12_001));
        let pages = Pages {
            enqueued: enqueued.collect(),
            cancels: vec![Cancel { id: 3, answer: CancelAnswer::Requested, answered_ms: at(30_021) }],
            deeds: vec![Deed { host: Some("brisk".to_owned()), what: What::Killed, from_ms, to_ms }],
            footprints: (0..100).map(footprint).collect(),
            ..Pages::default()
        };
        let diary = [
            (10_050, "1 1 brisk s0 begin"),
            (11_000, "1 1 brisk s0 step-1"),
            (20_000, "1 2 steady s0 begin"),
            (20_800, "1 2 steady s0 end"),
            (20_990, "2 1 steady s0 begin"),
            (21_000, "2 1 steady s0 end"),
            (30_000, "3 1 steady - begin"),
            (30_040, "3 1 steady - stopped"),
            (50_010, "5 1 brisk - begin"),
            (50_400, "5 1 brisk - end"),
            (50_410, "6 1 brisk - begin"),
            (50_900, "6 1 brisk - end"),
        ];
        Story { pages, kept, diary: diary.map(|(ms, line)| format!("{} {line}", at(ms))).to_vec() }
    }

    pub(super) fn item(&mut self, id: i64) -> &mut Kept {
        self.kept.iter_mut().find(|kept| kept.item.id.0 == id).unwrap()
    }

    /// Lets two lines of the diary happen the other way round.
    pub(super) fn swap(&mut self, one: &str, other: &str) {
        let (one, other) = (self.place(one), self.place(other));
        self.diary.swap(one, other);
    }

    /// Adds a line to the diary, after another one.
    pub(super) fn note_after(&mut self, other: &str, ms: i64, line: &str) {
        let place = self.place(other) + 1;
        self.diary.insert(place, format!("{} {line}", at(ms)));
    }

    fn place(&self, line: &str) -> usize {
        self.diary.iter().position(|found| found.ends_with(&format!(" {line}"))).unwrap()
    }
}

/// An item that one attempt finished.
fn item(id: i64, kind: &str, status: Status, started: i64, finished: i64) -> Kept {
    let mut item = made_up(id, kind, status);
    item.result = (status == Status::Succeeded).then(|| serde_json::json!({ "attempt": 1 }).into());
    (item.started_at, item.finished_at) = (Some(time(started)), Some(time(finished)));
    Kept { item, attempts: Vec::new() }
}

/// An item with one attempt.
pub(in crate::run) fn made_up(id: i64, kind: &str, status: Status) -> WorkItem {
    WorkItem {
        id: ItemId(id),
        kind: kind.to_owned(),
        payload: Json::parse("{}").unwrap(),
        dedup_key: None,
        scope: None,
        priority: 0,
        run_at: time(9000),
        status,
        attempt: 1,
        stalls: 0,
        failures: 0,
        interruptions: 0,
        progress: None,
        result: None,
        error: None,
        log_tail: None,
        reason: None,
        host: Some("steady/1".to_owned()),
        handler_digest: None,
        parent_id: None,
        lease_expires_at: None,
        cancel_requested_at: None,
        created_at: time(9000),
        updated_at: time(9000),
        started_at: None,
        finished_at: None,
    }
}

fn record(attempt: u32, host: &str, from: i64, to: i64, outcome: &str, error: Option<&str>) -> AttemptRecord {
    AttemptRecord {
        attempt,
        host: host.to_owned(),
        handler_digest: None,
        started_at: time(from),
        ended_at: time(to),
        outcome: outcome.to_owned(),
        error: error.map(str::to_owned),
        log_tail: None,
    }
}

/// One of a host that takes as much after 100 s as before.
fn footprint(second: i64) -> Footprint {
    Footprint { host: "steady".to_owned(), pid: 7, at_ms: at(second * 1000), resident_mib: 90, threads: 20, files: 40 }
}
