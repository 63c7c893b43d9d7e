//! Logs to standard error, for people or for programs.

use anyhow::Context as _;
use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use super::progress::Stderr;

/// How log lines look.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Format {
    /// One line for people.
    Text,
    /// One JSON object per line.
    Json,
}

pub(super) fn init(filter: &str, format: Format) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter)
        .with_context(|| format!("--log: `{filter}` is no filter: use a level such as `info`, or `target=level,…`"))?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Stderr);
    match format {
        Format::Text => logs.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).init(),
        Format::Json => logs.json().init(),
    }
    Ok(())
}
