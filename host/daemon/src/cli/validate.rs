//! `workhost validate`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use async_trait::async_trait;
use clap::ValueEnum;
use workhost_runtime::{Limits, Retention, Runtime};

use super::{block_on, output, progress};
use crate::config;
use crate::finding::Findings;
use crate::registry::Registry;

#[derive(clap::Args)]
pub(super) struct Args {
    /// How to print findings
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Validation runs no handler, so nothing is ever deleted.
struct NoRetention;

#[async_trait]
impl Retention for NoRetention {
    async fn delete_finished(&self, _: u64, _: u32, _: u32) -> Result<u64, String> {
        Err("nothing is deleted while a registry is validated".into())
    }
}

pub(super) fn run(file: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let checked = match check(file) {
        Ok(kinds) => Ok(kinds),
        Err(error) => Err(error.downcast::<Findings>()?),
    };
    match (args.format, &checked) {
        (Format::Text, Ok(kinds)) => {
            output::line(format_args!("{} is valid: {kinds} kinds, each with exactly one handler", file.display()))?
        }
        (Format::Text, Err(findings)) => output::line(findings)?,
        (Format::Json, checked) => {
            let findings = checked.as_ref().err().map_or(&[][..], |findings| &findings.0);
            output::line(serde_json::json!({ "valid": checked.is_ok(), "findings": findings }))?;
        }
    }
    Ok(if checked.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check(file: &Path) -> anyhow::Result<usize> {
    let config = config::load(file)?;
    let runtime = Runtime::with_cache(Limits::default(), config.compile_cache())?;
    let bar = progress::components(config.handlers.len());
    let registry =
        block_on(async { Ok(Registry::load(&config, &runtime, Arc::new(NoRetention), &|| bar.inc(1)).await?) });
    bar.finish_and_clear();
    Ok(registry?.kinds().count())
}
