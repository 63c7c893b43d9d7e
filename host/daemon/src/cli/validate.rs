//! `workhost validate`.

mod known;

use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;
use workhost_queue::{ConnectOptions, connect};
use workhost_runtime::{Limits, Runtime};

use super::{block_on, output, progress};
use crate::config::{self, Config};
use crate::finding::{Finding, Findings, Severity};
use crate::lock::{self, Difference, Lock, LockFile};
use crate::registry::{self, PayloadSchema};
use known::Known;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  workhost validate
  workhost validate --strict --format github     # in CI
  workhost validate --locked                     # in CI: are the components those that were reviewed?
  workhost validate --against-store              # before a new registry goes live

Exit status: 0 valid, 1 findings, 2 could not check.")]
pub(super) struct Args {
    /// How to print findings
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Count warnings as findings: a grant that nothing uses, for one
    #[arg(long)]
    strict: bool,
    /// Open no database and read no secret: the statements that handlers are granted are looked at and not prepared
    #[arg(long)]
    offline: bool,
    /// Also fail where a component differs from workhost.lock, and say how: kinds, payloads, imports, digest
    #[arg(long)]
    locked: bool,
    /// Also look for queued items that this registry would strand: of a kind that nobody runs, or with a payload or
    /// scope that their kind refuses. Changes nothing in the store
    #[arg(long)]
    against_store: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
    /// Annotations of a GitHub workflow
    Github,
}

/// What a validation came to.
struct Checked {
    /// How many kinds there are, each with exactly one handler, if that is so.
    kinds: usize,
    findings: Vec<Finding>,
    /// What was asked for and is looked at only once the registry is valid.
    left_out: Vec<&'static str>,
}

/// An error is what could not even begin.
pub(super) fn run(file: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let checked = match config::load(file) {
        Ok(config) => block_on(check(&config, args))?,
        Err(Findings(findings)) => Checked { kinds: 0, findings, left_out: Vec::new() },
    };
    let has = |severity| checked.findings.iter().any(|finding| finding.severity == severity);
    let wrong = has(Severity::Error) || args.strict && has(Severity::Warning);
    let valid = !wrong && !has(Severity::Unchecked);
    match args.format {
        Format::Json => output::line(serde_json::json!({
            "valid": valid,
            "offline": args.offline,
            "kinds": checked.kinds,
            "findings": checked.findings,
        }))?,
        Format::Text | Format::Github => {
            for finding in &checked.findings {
                match args.format {
                    Format::Github => output::line(finding.annotation())?,
                    _ => output::line(finding)?,
                }
            }
            output::line(summary(file, args, &checked, valid))?;
        }
    }
    Ok(ExitCode::from(if wrong { 1 } else { u8::from(!valid) * 2 }))
}

fn summary(file: &Path, args: &Args, checked: &Checked, valid: bool) -> String {
    let plural = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    let left_out = if args.offline { " (offline: no statement was prepared, and no secret read)" } else { "" };
    let found = plural(checked.findings.len(), "finding");
    match (valid, checked.findings.len()) {
        (true, warnings) => {
            let file = file.display();
            let kinds = plural(checked.kinds, "kind");
            let warnings = if warnings == 0 { String::new() } else { format!(", {}", plural(warnings, "warning")) };
            format!("{file} is valid: {kinds}, each with exactly one handler{warnings}{left_out}")
        }
        (false, _) if !checked.left_out.is_empty() => {
            format!("{found}{left_out}; once the registry is valid, {}", checked.left_out.join(", and "))
        }
        (false, _) => format!("{found}{left_out}"),
    }
}

async fn check(config: &Config, args: &Args) -> anyhow::Result<Checked> {
    let runtime = Runtime::with_cache(Limits::default(), config.compile_cache())?;
    let bar = progress::components(config.handlers.len());
    let (known, mut findings) = Known::check(config, &runtime, args.offline, &|| bar.inc(1)).await;
    bar.finish_and_clear();
    let valid = findings.iter().all(|finding| finding.severity == Severity::Warning);
    let kinds = known.as_ref().map_or(0, Known::kinds);
    let mut left_out = Vec::new();
    let mut differences = Vec::new();
    let locked = match args.locked.then(|| LockFile::read(&lock::path(&config.source.file))).transpose() {
        Ok(locked) => locked,
        Err(no_lock) => {
            findings.push(no_lock.finding());
            None
        }
    };
    match (&locked, &known) {
        (Some(locked), Some(known)) if valid => {
            differences = lock::differences(&locked.lock, &Lock::of(config, known.handlers()));
        }
        (Some(_), _) => left_out.push("it is compared with its lock"),
        (None, _) => {}
    }
    if args.against_store {
        // Which items are stranded is known only of a registry that could start.
        match &known {
            Some(known) => findings.extend(in_store(config, &mut differences, |kind| known.schema(kind)).await),
            None => left_out.push("the store is looked at"),
        }
    }
    if let Some(locked) = &locked {
        findings.extend(differences.iter().map(|difference| difference.finding(&locked.source)));
    }
    Ok(Checked { kinds, findings, left_out })
}

/// What the store holds that this registry would strand. Also counts the items that have what its payloads lost.
async fn in_store<'s>(
    config: &Config,
    differences: &mut [Difference],
    schema: impl Fn(&str) -> Option<&'s PayloadSchema>,
) -> Vec<Finding> {
    let found = async {
        let options = ConnectOptions { create: false, ..config.store.options(&config.limits) };
        let queue = connect(&config.source.resolve_url(&config.store.url), options).await?;
        queue.check().await?;
        lock::count_lost_fields(differences, &*queue).await?;
        registry::stranded(config, &*queue, schema).await
    };
    found.await.unwrap_or_else(|error| {
        let mend =
            "start the store, or correct its URL; a store of an older schema is brought up to date by `workhost serve`";
        let finding =
            config.source.finding("store-unreachable", &["store", "url"], error.to_string(), Some(mend.into()));
        vec![finding.with(Severity::Unchecked)]
    })
}
