//! Notes in a file what it does and when, for a test that looks from outside at what really ran.
//!
//! The file is `/diary/lines`; each event is one append of one line: `MILLISECONDS ITEM ATTEMPT HOST SCOPE EVENT`. The
//! order of the lines is the order in which the events happened, over all hosts that share the folder. `HOST` is the
//! setting `host`; a `-` stands for no scope.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workhost_sdk::{Ending, Failure, Handler, Work, config, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// How many steps there are, over all attempts; each ends with a line, the last one with `end`.
    #[serde(default = "one")]
    steps: u64,
    #[serde(default)]
    step_ms: u64,
    /// How it ends.
    #[serde(default)]
    then: Then,
    /// Whether it goes on though it is asked to stop.
    #[serde(default)]
    deaf: bool,
    /// Whether each attempt starts over, whatever the ones before have done.
    #[serde(default)]
    afresh: bool,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Then {
    #[default]
    End,
    Fail,
    Panic,
}

#[derive(Deserialize, Serialize)]
struct Progress {
    step: u64,
}

#[derive(Serialize)]
struct Summary {
    /// The attempt that tells this.
    attempt: u32,
}

fn one() -> u64 {
    1
}

/// The open file, and what each line begins with.
struct Diary {
    file: File,
    item: u64,
    attempt: u32,
    host: String,
    scope: String,
}

impl Diary {
    fn open(work: &Work) -> Result<Diary, Failure> {
        let file = File::options().create(true).append(true).open("/diary/lines").map_err(|error| error.to_string())?;
        let scope = work.scope().unwrap_or("-").to_owned();
        Ok(Diary { file, item: work.id(), attempt: work.attempt(), host: config::get("host")?, scope })
    }

    fn note(&mut self, event: &str) -> Result<(), Failure> {
        let Diary { item, attempt, host, scope, .. } = self;
        let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis());
        let line = format!("{now} {item} {attempt} {host} {scope} {event}\n");
        self.file.write_all(line.as_bytes()).map_err(|error| Failure::new(error.to_string()))
    }
}

fn write(entry: &Entry, work: &Work) -> Result<Ending<Summary>, Failure> {
    let mut diary = Diary::open(work)?;
    diary.note("begin")?;
    let summary = Summary { attempt: work.attempt() };
    let before = work.resume_from().map_or(0, |progress: Progress| progress.step).min(entry.steps.saturating_sub(1));
    let done = if entry.afresh { 0 } else { before };
    for step in done + 1..=entry.steps {
        if !entry.deaf && work.stop_requested().is_some() {
            diary.note("stopped")?;
            return Ok(Ending::Stopped(summary));
        }
        std::thread::sleep(Duration::from_millis(entry.step_ms));
        if step < entry.steps {
            diary.note(&format!("step-{step}"))?;
            work.report_progress(&Progress { step });
        }
    }
    match entry.then {
        Then::End => diary.note("end")?,
        Then::Fail => {
            diary.note("failing")?;
            return Err(Failure::new("as its payload says"));
        }
        Then::Panic => {
            diary.note("panicking")?;
            panic!("as its payload says");
        }
    }
    Ok(Ending::Done(summary))
}

/// Kinds that do the same, so that a configuration can treat them differently.
macro_rules! kinds {
    ($(#[doc = $summary:literal] $name:ident = $kind:literal,)+) => {
        $(
            #[doc = $summary]
            #[derive(Deserialize, JsonSchema)]
            #[serde(transparent)]
            struct $name(Entry);

            impl Handler for $name {
                const KIND: &'static str = $kind;
                const SUMMARY: &'static str = $summary.trim_ascii();
                type Summary = Summary;

                fn run(self, work: &Work) -> Result<Ending<Summary>, Failure> {
                    write(&self.0, work)
                }
            }
        )+
        export_handlers!($($name),+);
    };
}

kinds! {
    /// Notes what it does.
    Plain = "diary",
    /// Notes what it does, one at a time in each scope.
    Scoped = "diary-scoped",
    /// Notes what it does, one at a time on each host.
    Single = "diary-single",
    /// Notes what it does, again and again.
    Tick = "diary-tick",
}
