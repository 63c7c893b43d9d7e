//! What a soak came to, for people.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use workhost_queue::Status;

use super::book::{Pages, What};
use super::oracle::{Kept, Verdict, Violation, judge};
use super::{Scene, diary};

/// How many violations of each rule are told with their evidence.
const TOLD: usize = 3;

/// What was done, and what was wrong.
pub(crate) struct Report {
    title: String,
    command: String,
    folder: PathBuf,
    pages: Pages,
    statuses: BTreeMap<&'static str, u64>,
    attempts: u64,
    verdict: Verdict,
    /// Of each violation that is told.
    evidence: Vec<String>,
}

impl Report {
    /// Judges. Where the items could not be read in the end, what was seen before is all that is told.
    pub(super) fn new(scene: &Scene, kept: Option<Vec<Kept>>, took: Duration) -> Result<Report> {
        for host in &scene.fleet.hosts {
            for panic in panics(&host.log()) {
                scene.book.amiss("no host panics", None, format!("host {}: {panic}", host.name));
            }
        }
        let pages = scene.book.write(|pages| pages.clone());
        let diary = scene.plan.folder.join("diary/lines");
        let verdict = match &kept {
            Some(kept) => judge(&pages, kept, diary::lines(&diary)?)?,
            None => Verdict { violations: pages.amiss.clone(), ..Verdict::default() },
        };
        let kept = kept.unwrap_or_default();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let is_told = |violation: &&Violation| {
            let count = counts.entry(violation.rule).or_default();
            *count += 1;
            *count <= TOLD
        };
        let told = verdict.violations.iter().filter(is_told);
        let evidence = told.map(|violation| evidence(violation, &pages, &kept, &diary)).collect();
        let mut statuses = BTreeMap::new();
        kept.iter().for_each(|kept| *statuses.entry(kept.item.status.as_str()).or_default() += 1);
        Ok(Report {
            title: format!("{}, seed {}, {} s", scene.plan.store.name(), scene.plan.seed, took.as_secs()),
            command: scene.plan.command(),
            folder: scene.plan.folder.clone(),
            attempts: kept.iter().map(|kept| u64::from(kept.item.attempt)).sum(),
            pages,
            statuses,
            verdict,
            evidence,
        })
    }

    /// Whether nothing was wrong.
    pub(crate) fn is_clean(&self) -> bool {
        self.verdict.violations.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { pages, verdict, .. } = self;
        let status = |status: Status| self.statuses.get(status.as_str()).copied().unwrap_or(0);
        let count = |what| pages.count(what);
        writeln!(f, "soak on {}", self.title)?;
        writeln!(
            f,
            "  items        {} succeeded, {} failed, {} cancelled, {} open; {} attempts; {} answers to clients lost",
            status(Status::Succeeded),
            status(Status::Failed),
            status(Status::Cancelled),
            status(Status::Queued) + status(Status::Running),
            self.attempts,
            pages.unanswered,
        )?;
        writeln!(
            f,
            "  done to it   {} kills, {} restarts, {} stops, {} cuts, {} outages, {} times all sessions ended, \
             {} reloads, {} pauses, {} cancels, {} standstills of the machine",
            count(What::Killed),
            count(What::Terminated),
            count(What::Stopped),
            count(What::CutOff),
            count(What::Outage),
            count(What::SessionsEnded),
            count(What::Reloaded),
            pages.pauses,
            pages.cancels.len(),
            count(What::Standstill),
        )?;
        writeln!(
            f,
            "  outside log  {} lines; {} of steps that a stopped host was amid",
            verdict.lines, verdict.late_steps
        )?;
        for line in &verdict.footprints {
            writeln!(f, "  footprint    {line}")?;
        }
        if self.is_clean() {
            return write!(f, "  verdict      all holds");
        }
        let mut rules: BTreeMap<&str, usize> = BTreeMap::new();
        verdict.violations.iter().for_each(|violation| *rules.entry(violation.rule).or_default() += 1);
        writeln!(f, "  verdict      {} violations", verdict.violations.len())?;
        for (rule, count) in rules {
            writeln!(f, "    {count:4} × {rule}")?;
        }
        for evidence in &self.evidence {
            writeln!(f, "\n{evidence}")?;
        }
        write!(
            f,
            "\nlogs and diary: {}\nthe same choices again: {} (what happens when is not in them)",
            self.folder.display(),
            self.command
        )
    }
}

/// A violation with all that is known of its item, and what was done meanwhile.
fn evidence(violation: &Violation, pages: &Pages, kept: &[Kept], diary: &Path) -> String {
    let mut text = format!("VIOLATED: {}\n  {}", violation.rule, violation.said);
    let Some(id) = violation.item else { return text };
    text.push_str(&format!("\n  item {id}"));
    let lines = diary::of_item(diary, id);
    let times: BTreeSet<i64> = lines.iter().filter_map(|line| diary::parse(line)).map(|line| line.at_ms).collect();
    if let Some(kept) = kept.iter().find(|kept| kept.item.id.0 == id) {
        let item = &kept.item;
        text.push_str(&format!(
            ": {} {:?} {}, attempt {}, {} stalls, {} failures, {} interruptions, reason {:?}, error {:?}\n  \
             started {:?}, cancel {:?}, finished {:?}",
            item.kind,
            item.scope,
            item.status,
            item.attempt,
            item.stalls,
            item.failures,
            item.interruptions,
            item.reason,
            item.error.as_deref().and_then(|error| error.lines().next()),
            item.started_at,
            item.cancel_requested_at,
            item.finished_at,
        ));
        for record in &kept.attempts {
            text.push_str(&format!(
                "\n  record: attempt {} on {}, {} to {}: {}",
                record.attempt, record.host, record.started_at, record.ended_at, record.outcome
            ));
        }
    }
    // Of lines in a row of one attempt, the first and the last.
    for run in lines.chunk_by(|one, other| attempt(one) == attempt(other)) {
        text.push_str(&format!("\n  diary: {}", run[0]));
        if run.len() > 1 {
            text.push_str(&format!("\n         {} ({} lines)", run[run.len() - 1], run.len()));
        }
    }
    if let (Some(first), Some(last)) = (times.first(), times.last()) {
        for deed in pages.deeds.iter().filter(|deed| deed.from_ms <= last + 5000 && deed.to_ms >= first - 5000) {
            let host = deed.host.as_deref().unwrap_or("all");
            text.push_str(&format!("\n  done: {} to {} {host} {:?}", deed.from_ms, deed.to_ms, deed.what));
        }
    }
    text
}

fn attempt(line: &str) -> Option<u32> {
    diary::parse(line).map(|line| line.attempt)
}

/// Where a host's own code panicked. What guests say is not on this stream.
fn panics(log: &Path) -> Vec<String> {
    let log = std::fs::read(log).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let panicked = |line: &&str| line.starts_with("thread '") && line.contains("panicked at");
    log.lines().filter(panicked).map(str::to_owned).collect()
}
