//! `cargo xtask demo`: the demonstration, with all that it needs built.

use anyhow::Result;

use crate::handlers;
use crate::process::{cargo, run as run_program, say};
use crate::workspace::Workspace;

/// Run three real handlers from a durable queue and show what they did
///
/// Makes an application's database and real files for two scopes, runs `workhost serve` on the embedded
/// store, shows progress, and ends by itself with a table of what ran.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask demo
  cargo xtask demo --dir ~/Pictures --dir /usr/share/doc     crawl your own folders; they are only read
  cargo xtask demo | tee demo.log                            plain lines instead of bars")]
pub(crate) struct Args {
    /// Crawl this folder instead of made ones (may be repeated); it is only read
    #[arg(long, value_name = "FOLDER")]
    dir: Vec<std::path::PathBuf>,
    /// Only validate the registry of all handlers, strictly, with annotations as CI shows them
    #[arg(long)]
    validate: bool,
}

/// Runs the command.
///
/// # Errors
/// When something does not build, or an item of the demonstration did not succeed.
pub(crate) fn run(args: &Args) -> Result<()> {
    let workspace = Workspace::load()?;
    handlers::build(&workspace)?;
    say("building workhost (the first time takes some minutes)");
    run_program(cargo().current_dir(workspace.root()).args(["build", "--bin", "workhost", "--example", "demo"]))?;
    let built = workspace.target_dir().join("debug");
    let mut demo = std::process::Command::new(built.join("examples/demo"));
    demo.arg("--folder").arg(workspace.target_dir().join("demo"));
    demo.arg("--components").arg(workspace.components_dir());
    demo.arg("--program").arg(built.join("workhost"));
    for dir in &args.dir {
        demo.arg("--dir").arg(dir);
    }
    if args.validate {
        demo.arg("--validate");
    }
    hand_over(demo)
}

/// Becomes the demonstration, so that the terminal and its signals are the demonstration's.
fn hand_over(mut demo: std::process::Command) -> Result<()> {
    use std::os::unix::process::CommandExt as _;
    Err(anyhow::Error::new(demo.exec()).context("cannot start the demonstration"))
}
