//! `workhost validate`.

use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;
use workhost_queue::{ConnectOptions, connect};
use workhost_runtime::{Limits, Runtime};

use super::{block_on, output, progress};
use crate::config::{self, Config};
use crate::finding::{Finding, Findings, Severity};
use crate::registry::{self, PayloadSchema, Registry};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  workhost validate
  workhost validate --strict --format github     # in CI
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
}

/// An error is what could not even begin.
pub(super) fn run(file: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let checked = match config::load(file) {
        Ok(config) => block_on(check(&config, args))?,
        Err(Findings(findings)) => Checked { kinds: 0, findings },
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
        (false, _) if args.against_store && !args.offline => {
            format!("{found}; the store is looked at once the registry is valid")
        }
        (false, _) => format!("{found}{left_out}"),
    }
}

async fn check(config: &Config, args: &Args) -> anyhow::Result<Checked> {
    let runtime = Runtime::with_cache(Limits::default(), config.compile_cache())?;
    let bar = progress::components(config.handlers.len());
    let loaded = || bar.inc(1);
    if args.offline {
        let (schemas, mut findings) = Registry::examine(config, &runtime, &loaded).await;
        bar.finish_and_clear();
        findings.extend(stranded(config, args, |kind| schemas.get(kind)).await);
        return Ok(Checked { kinds: schemas.len(), findings });
    }
    let registry = Registry::load(config, &runtime, None, &loaded).await;
    bar.finish_and_clear();
    match registry {
        Ok((registry, mut findings)) => {
            findings.extend(stranded(config, args, |name| registry.kind(name).map(|kind| &kind.rule.schema)).await);
            Ok(Checked { kinds: registry.kinds().count(), findings })
        }
        // Which items are stranded is known only of a registry that could start.
        Err(Findings(findings)) => Ok(Checked { kinds: 0, findings }),
    }
}

/// What the store holds that this registry would strand, if that was asked for.
async fn stranded<'s>(
    config: &Config,
    args: &Args,
    schema: impl Fn(&str) -> Option<&'s PayloadSchema>,
) -> Vec<Finding> {
    if !args.against_store {
        return Vec::new();
    }
    let found = async {
        let options = ConnectOptions { create: false, ..config.store.options(&config.limits) };
        let queue = connect(&config.source.resolve_url(&config.store.url), options).await?;
        queue.check().await?;
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
