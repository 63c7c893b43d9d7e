//! `workhost reload`.

use std::path::Path;
use std::process::ExitCode;

use super::output;
use crate::config;
use crate::control;
use crate::finding::Findings;
use crate::reload::Reloaded;

#[derive(clap::Args)]
#[command(after_help = "\
Example:
  workhost reload

Takes in kinds, handlers, grants and databases; attempts that run end on the component that they began with.
Other settings need a restart. SIGHUP does the same.

Exit status: 0 the new registry is used, 1 it is not valid and the old one stays, 2 no daemon answered.")]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(file: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    // What the daemon would refuse can be said here, and where it listens stands in the same file.
    let reloaded = match config::load(file) {
        Ok(config) => control::ask_to_reload(&config.control_socket()).await?,
        Err(Findings(findings)) => {
            let findings = findings.iter().map(ToString::to_string).collect();
            Reloaded { valid: false, kinds: Vec::new(), findings }
        }
    };
    if args.json {
        output::line(serde_json::to_string(&reloaded)?)?;
    } else {
        for finding in &reloaded.findings {
            output::line(finding)?;
        }
        match reloaded.valid {
            true => output::line(format_args!("reloaded: {}", reloaded.kinds.join(", ")))?,
            false => output::line("not reloaded: the daemon goes on with the registry that it has")?,
        }
    }
    Ok(if reloaded.valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
