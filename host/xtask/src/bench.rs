//! `cargo xtask bench`: the queue's benchmark, with a server of its own.

use anyhow::Result;

use crate::postgres::{Programs, Purpose, Server};
use crate::process::{cargo, run as run_program, say};
use crate::workspace::Workspace;

/// Measure what the queue's verbs cost, beside backlogs of every kind
///
/// Each figure is taken in turns with an empty store, since machines are noisy: the ratio counts. With five million
/// finished items, the default, it takes some 30 minutes and 10 GB in the temporary folder.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask bench                                  everything, on both stores
  cargo xtask bench -- --finished 200000             a smaller backlog of finished items
  cargo xtask bench -- --store sqlite --part empty   one part on one store
  cargo xtask bench -- --help                        all options of the benchmark

PostgreSQL keeps its promise to write each commit to the disk here; the server is started for this run alone.")]
pub(crate) struct Args {
    /// Options for the benchmark
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// When it does not build, or the server does not start.
pub(crate) fn run(args: &Args) -> Result<()> {
    let workspace = Workspace::load()?;
    // By its package: what the queue needs is far less than the whole host, which need not be optimised for this.
    let bench = || {
        let mut command = cargo();
        command.args(["bench", "--package", "workhost-queue", "--bench", "queue"]).current_dir(workspace.root());
        command
    };
    run_program(bench().arg("--no-run"))?;
    let programs = Programs::provide()?;
    say(&format!("starting a server of our own with {}", programs.described()));
    let server = Server::start(&programs, Purpose::Benchmarks)?;
    run_program(bench().arg("--").args(&args.arguments).env("WORKHOST_TEST_POSTGRES", server.url()))
}
