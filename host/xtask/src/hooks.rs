//! `cargo xtask hooks`: the git hooks for people.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{read, run as run_program};
use crate::workspace::Workspace;

/// Where the hooks lie in the repository.
const FOLDER: &str = ".githooks";

/// Install the git hooks: format and build before a commit, unit tests before a push
///
/// They count for this clone alone. `git commit --no-verify` passes over them once.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask hooks
  cargo xtask hooks --remove")]
pub(crate) struct Args {
    /// Take the hooks away again
    #[arg(long)]
    remove: bool,
}

/// Runs the command.
///
/// # Errors
/// When this is no git clone, or other hooks are installed.
pub(crate) fn run(args: &Args) -> Result<()> {
    let root = Workspace::load()?.root();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(&root).args(arguments);
        git
    };
    read(&mut git(&["rev-parse", "--git-dir"])).context("git hooks need a git clone")?;
    // An unset value is an error to git.
    let current = read(&mut git(&["config", "--local", "core.hooksPath"])).unwrap_or_default();
    if !current.is_empty() && current != FOLDER {
        bail!("this clone already takes its hooks from {current}\nhint: git config --unset core.hooksPath");
    }
    match (args.remove, current.is_empty()) {
        (false, _) => {
            run_program(&mut git(&["config", "--local", "core.hooksPath", FOLDER]))?;
            println!("installed: format and build before a commit, unit tests before a push");
        }
        (true, false) => {
            run_program(&mut git(&["config", "--local", "--unset", "core.hooksPath"]))?;
            println!("removed");
        }
        (true, true) => println!("there are none"),
    }
    Ok(())
}
