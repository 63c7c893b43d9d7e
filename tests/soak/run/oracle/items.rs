//! Each item by itself: what it became, and whether its attempts add up to that.

use std::collections::{BTreeSet, HashMap};

use workhost_queue::{AttemptRecord, KEPT_ATTEMPTS, Status, WorkItem};

use super::effects::{Attempt, Effects, explains_a_stall};
use super::kept::{Items, Kept, ms};
use super::{Verdict, against};
use crate::run::book::{Pages, What};
use crate::run::load::kinds::{can_fail_with, keeps_diary, retries};
use crate::run::plan::MAX_STALLS;

pub(super) fn judge(verdict: &mut Verdict, pages: &Pages, kept: &Items<'_>, effects: &HashMap<Attempt, Effects>) {
    for (id, attempt) in effects.keys() {
        if kept.get(id).is_none_or(|kept| kept.item.attempt < *attempt) {
            verdict.find("what ran is known to the store", *id, format!("attempt {attempt} of it ran"));
        }
    }
    for kept in kept.values() {
        let mut find = |rule, said| verdict.find(rule, kept.item.id.0, said);
        ended(kept, &mut find);
        counted(kept, &mut find);
        for record in &kept.attempts {
            explained(pages, &kept.item, record, &mut find);
        }
        if keeps_diary(&kept.item.kind) {
            ran(kept, effects, &mut find);
        }
    }
}

/// Whether it became what it may become.
fn ended(kept: &Kept, find: &mut impl FnMut(&'static str, String)) {
    let item = &kept.item;
    let last = kept.attempts.first().map(|record| record.outcome.as_str());
    let cancelled = item.cancel_requested_at.is_some();
    match item.status {
        Status::Queued | Status::Running => find("every item is finished at the end", format!("it is {}", item.status)),
        Status::Succeeded if cancelled => {
            find("no cancel is lost", "it succeeded after its cancel was requested".into())
        }
        Status::Succeeded => {}
        Status::Failed if item.reason.as_deref() == Some("stalled") => {
            if cancelled || item.stalls < MAX_STALLS || last != Some("stalled") {
                find("an item fails as stalled at its last stall", format!("{} stalls, last {last:?}", item.stalls));
            }
        }
        Status::Failed => {
            let is_permanent = item.payload.as_str().contains("\"permanent\":true");
            if last != Some("failed") {
                find("a failed item failed in its last attempt", format!("that was {last:?}"));
            }
            if item.failures != retries(&item.kind) + 1 && !is_permanent && !cancelled {
                let said = format!("it failed after {} of {} failures", item.failures, retries(&item.kind) + 1);
                find("an item is tried as often as its kind says", said);
            }
        }
        Status::Cancelled => {
            let superseded = item.reason.as_deref() == Some("superseded") && item.dedup_key.is_some();
            if !cancelled && !superseded {
                find("what is cancelled was called off, or superseded", format!("reason {:?}", item.reason));
            }
        }
    }
    if item.stalls >= MAX_STALLS && item.status != Status::Failed && !cancelled {
        find(
            "an item fails as stalled at its last stall",
            format!("{} stalls, and it is {}", item.stalls, item.status),
        );
    }
    // Else it may have been put back since it started, to run again later.
    let ran_last = matches!(item.status, Status::Succeeded | Status::Failed);
    if ran_last && item.started_at.is_some_and(|started| started < item.run_at) {
        find("nothing runs before it is due", format!("started at {:?}, due at {}", item.started_at, item.run_at));
    }
}

/// Whether its numbers and the records of its attempts say the same.
fn counted(kept: &Kept, find: &mut impl FnMut(&'static str, String)) {
    const RULE: &str = "stalls, failures and interruptions add up with the attempts";
    let Kept { item, attempts } = kept;
    if item.attempt > KEPT_ATTEMPTS {
        return;
    }
    let count = |words: &[&str]| attempts.iter().filter(|record| words.contains(&&*record.outcome)).count();
    let numbers = [
        ("stalls", item.stalls, count(&["stalled"])),
        ("failures", item.failures, count(&["failed", "retry"])),
        ("interruptions", item.interruptions, count(&["released"])),
    ];
    for (what, number, records) in numbers {
        if number as usize != records {
            find(RULE, format!("{number} {what}, {records} records of such"));
        }
    }
    // The last attempt of one that succeeded has no record.
    let recorded: BTreeSet<u32> = attempts.iter().map(|record| record.attempt).collect();
    let last = if item.status == Status::Succeeded { item.attempt - 1 } else { item.attempt };
    if item.status.is_finished() && !recorded.iter().copied().eq(1..=last) {
        find(RULE, format!("{} after attempt {}, with records of {recorded:?}", item.status, item.attempt));
    }
}

/// Whether something that was done, or asked for, explains how an attempt ended.
fn explained(pages: &Pages, item: &WorkItem, record: &AttemptRecord, find: &mut impl FnMut(&'static str, String)) {
    let host = record.host.split('/').next().unwrap_or_default();
    let (from_ms, to_ms) = (ms(record.started_at), ms(record.ended_at));
    let terminated = || {
        let mut deeds = against(pages, host).filter(|deed| deed.what == What::Terminated);
        deeds.any(|deed| deed.from_ms <= to_ms && deed.to_ms >= from_ms)
    };
    let is_explained = match record.outcome.as_str() {
        "stalled" => explains_a_stall(pages, host, from_ms, to_ms),
        "released" => terminated(),
        "cancelled" => item.cancel_requested_at.is_some(),
        "failed" | "retry" => record.error.as_deref().is_some_and(|error| can_fail_with(&item.kind, error)),
        _ => false,
    };
    if !is_explained {
        let said = format!(
            "attempt {} on {}, from {from_ms} to {to_ms}: {} {:?}",
            record.attempt, record.host, record.outcome, record.error
        );
        find("an attempt ends by what was done to it or asked of it", said);
    }
}

/// Whether the diary knows the attempts that the store knows.
fn ran(kept: &Kept, effects: &HashMap<Attempt, Effects>, find: &mut impl FnMut(&'static str, String)) {
    let item = &kept.item;
    let of = |attempt: u32| effects.get(&(item.id.0, attempt));
    if item.status == Status::Succeeded {
        let ends = of(item.attempt).map_or(0, |its| its.ends);
        let told = item.result.as_ref().and_then(|result| result.to_value()["attempt"].as_u64());
        if ends != 1 || told != Some(u64::from(item.attempt)) {
            let said = format!("attempt {} ended {ends} times, and its result tells {told:?}", item.attempt);
            find("what succeeded was done by the attempt that is recorded, once", said);
        }
    }
    for record in &kept.attempts {
        let its = of(record.attempt);
        let (begins, on) = its.map_or((0, None), |its| (its.begins, Some(&its.host)));
        // One that its host did not live to begin, or was told to end first, has no lines.
        let may_be_silent = matches!(record.outcome.as_str(), "stalled" | "released" | "cancelled");
        if begins == 0 && !may_be_silent {
            find("an attempt that failed had begun", format!("attempt {} {}", record.attempt, record.outcome));
        }
        if on.is_some_and(|on| !record.host.starts_with(&format!("{on}/"))) {
            let said = format!("attempt {} is recorded for {}, and ran on {on:?}", record.attempt, record.host);
            find("an attempt runs on the host that holds it", said);
        }
    }
}
