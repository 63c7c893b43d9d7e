//! The outside log: what guests noted of themselves, in the order in which it happened.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use anyhow::{Context as _, Result};

/// One line: something that an attempt did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// When its guest looked at the clock, just before it wrote.
    pub(super) at_ms: i64,
    pub(super) item: i64,
    pub(super) attempt: u32,
    pub(super) host: String,
    pub(super) scope: Option<String>,
    pub(super) event: Event,
}

/// What it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Its first effect.
    Begin,
    /// One effect among many.
    Step,
    /// Its last effect, before it succeeds.
    End,
    /// Its last effect, before it fails.
    Failing,
    /// Its last effect, before it stops as it was asked to.
    Stopped,
}

/// Reads all lines, or tells which is none: each is written whole, whatever happens to its host.
pub(super) fn lines(file: &Path) -> Result<impl Iterator<Item = Result<Line>>> {
    let lines = BufReader::new(File::open(file).with_context(|| format!("cannot open {}", file.display()))?).lines();
    Ok(lines.map(|line| {
        let line = line?;
        parse(&line).with_context(|| format!("`{line}` is no line of a diary"))
    }))
}

pub(super) fn parse(line: &str) -> Option<Line> {
    let mut words = line.split(' ');
    let mut next = || words.next();
    let (at_ms, item, attempt) = (next()?.parse().ok()?, next()?.parse().ok()?, next()?.parse().ok()?);
    let (host, scope) = (next()?.to_owned(), Some(next()?).filter(|scope| *scope != "-").map(str::to_owned));
    let event = match next()? {
        "begin" => Event::Begin,
        "end" => Event::End,
        "failing" | "panicking" => Event::Failing,
        "stopped" => Event::Stopped,
        step if step.starts_with("step-") => Event::Step,
        _ => return None,
    };
    next().is_none().then_some(Line { at_ms, item, attempt, host, scope, event })
}

/// The lines of one item, as they stand there.
pub(super) fn of_item(file: &Path, item: i64) -> Vec<String> {
    let Ok(file) = File::open(file) else { return Vec::new() };
    let is_its = |line: &String| parse(line).is_some_and(|line| line.item == item);
    BufReader::new(file).lines().map_while(Result::ok).filter(is_its).collect()
}
