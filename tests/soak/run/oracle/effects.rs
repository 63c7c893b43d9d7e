//! What really ran, by the diary: one pass over its lines in the order in which they happened.

use std::collections::HashMap;

use anyhow::Result;

use super::kept::{Items, ms};
use super::{Verdict, against};
use crate::run::book::{Deed, Pages, What};
use crate::run::diary::{Event, Line};
use crate::run::load::kinds::SINGLE;

/// An attempt of an item.
pub(super) type Attempt = (i64, u32);

/// What one attempt did.
#[derive(Clone, Debug, Default)]
pub(super) struct Effects {
    pub(super) host: String,
    pub(super) begins: u32,
    pub(super) ends: u32,
    /// When it began.
    pub(super) began_ms: i64,
    /// The beginning of the newest stop of its host that excused a line.
    excused: Option<i64>,
    /// Whether a line came after its last one.
    is_over: bool,
}

/// Judges the diary, and answers what each attempt did.
pub(super) fn judge(
    verdict: &mut Verdict,
    pages: &Pages,
    kept: &Items<'_>,
    diary: impl Iterator<Item = Result<Line>>,
) -> Result<HashMap<Attempt, Effects>> {
    let mut effects: HashMap<Attempt, Effects> = HashMap::new();
    let mut newest: HashMap<i64, u32> = HashMap::new();
    // Who began last in a scope, or in the one slot of a kind on a host.
    let mut turns: HashMap<String, Attempt> = HashMap::new();
    let stops = stops(pages);
    for line in diary {
        let line = line?;
        verdict.lines += 1;
        let attempt = (line.item, line.attempt);
        let its = effects.entry(attempt).or_default();
        if its.host.is_empty() {
            (its.host, its.began_ms) = (line.host.clone(), line.at_ms);
        }
        let mut amiss = Vec::new();
        if its.is_over {
            amiss.push("an attempt does nothing after its last step");
        }
        match line.event {
            Event::Begin => its.begins += 1,
            Event::End => its.ends += 1,
            Event::Step | Event::Failing | Event::Stopped => {}
        }
        its.is_over |= matches!(line.event, Event::End | Event::Failing | Event::Stopped);
        if its.begins != 1 {
            amiss.push("an attempt begins once, and first");
        }
        let newest = newest.entry(line.item).or_default();
        let is_older = line.attempt < *newest;
        if is_older {
            amiss.push("an older attempt does nothing once a newer one has begun");
        }
        *newest = line.attempt.max(*newest);
        let item = kept.get(&line.item).map(|kept| &kept.item);
        for turn in turns_of(&line, item.is_some_and(|item| item.kind == SINGLE)) {
            let holder = turns.entry(turn).or_insert(attempt);
            if line.event == Event::Begin && !is_older {
                *holder = attempt;
            } else if *holder != attempt {
                amiss.push("one at a time: of a scope, and of a kind with one slot");
            }
        }
        if item.and_then(|item| item.finished_at).is_some_and(|finished| line.at_ms > ms(finished)) {
            amiss.push("nothing is done once the item is recorded as ended");
        }
        if amiss.is_empty() {
            continue;
        }
        if let Some(stop) = excuse(its, &line, stops.get(&*line.host)) {
            its.excused = Some(stop.from_ms);
            verdict.late_steps += 1;
            continue;
        }
        for rule in amiss {
            verdict.find(rule, line.item, format!("{line:?}"));
        }
    }
    Ok(effects)
}

/// The turns that an attempt waits for. A scope is a string without a blank.
fn turns_of(line: &Line, is_single: bool) -> Vec<String> {
    let scope = line.scope.iter().map(|scope| format!("scope {scope}"));
    scope.chain(is_single.then(|| format!("slot of {}", line.host))).collect()
}

fn stops(pages: &Pages) -> HashMap<&str, Vec<&Deed>> {
    let mut stops: HashMap<&str, Vec<&Deed>> = HashMap::new();
    for deed in pages.deeds.iter().filter(|deed| deed.what == What::Stopped) {
        stops.entry(deed.host.as_deref().unwrap_or_default()).or_default().push(deed);
    }
    stops
}

/// The stop that excuses a late line: its attempt was amid a step when its host was stopped, and this is the line of that
/// step. It was about to be written then, or it was written when the host went on.
fn excuse<'a>(its: &Effects, line: &Line, stops: Option<&Vec<&'a Deed>>) -> Option<&'a Deed> {
    /// How long a guest takes from its look at the clock to the end of its write, and from the end of a stop to that of its
    /// step, on a busy machine.
    const LATE_MS: i64 = 2000;
    let about_then = |stop: &&&Deed| (stop.from_ms - LATE_MS..stop.to_ms + LATE_MS).contains(&line.at_ms);
    let stop = stops?.iter().rev().find(about_then)?;
    let was_amid_it = its.began_ms <= stop.from_ms;
    let is_first = its.excused.is_none_or(|before| before < stop.from_ms);
    (was_amid_it && is_first).then_some(*stop)
}

/// Whether something was done to a host, within a span of time, by which a lease can run out.
pub(super) fn explains_a_stall(pages: &Pages, host: &str, from_ms: i64, to_ms: i64) -> bool {
    /// How long a deed is felt: a claim that was under way is answered to nobody.
    const FELT_MS: i64 = 2000;
    against(pages, host)
        .filter(|deed| deed.what.explains_a_stall())
        .any(|deed| deed.from_ms <= to_ms && deed.to_ms + FELT_MS >= from_ms)
}
