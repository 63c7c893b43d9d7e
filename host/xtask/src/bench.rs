//! `cargo xtask bench`: the benchmarks, with all that they need set up.

use std::process::Command;

use anyhow::Result;

use crate::handlers;
use crate::postgres::{Programs, Purpose, Server};
use crate::process::{cargo, run as run_program, say};
use crate::workspace::Workspace;

/// Measure what the queue's verbs and an attempt cost
///
/// Each figure is taken in turns with what it is compared to, since machines are noisy: the ratio counts.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask bench queue                                  everything, on both stores
  cargo xtask bench queue -- --finished 200000             a smaller backlog of finished items
  cargo xtask bench queue -- --store sqlite --part empty   one part on one store
  cargo xtask bench attempt                                an attempt beside plain wasmtime
  cargo xtask bench attempt -- --help                      all options of a benchmark
  cargo xtask bench pickup                                 how soon an idle host starts an item")]
pub(crate) struct Args {
    /// What to measure
    #[arg(value_enum)]
    what: What,
    /// Options for the benchmark
    #[arg(last = true)]
    arguments: Vec<String>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum What {
    /// The queue's verbs, beside backlogs of every kind. With five million finished items, the default, it takes some
    /// 30 minutes and 10 GB in the temporary folder. PostgreSQL keeps its promise to write each commit to the disk
    Queue,
    /// Loading a component and running an attempt, beside plain wasmtime. It builds an optimised wasmtime first
    Attempt,
    /// How soon an idle host starts an item, from the enqueue on. With the program of the tests, which is not optimised
    Pickup,
}

/// Runs the command.
///
/// # Errors
/// When it does not build, or the server does not start.
pub(crate) fn run(args: &Args) -> Result<()> {
    let workspace = Workspace::load()?;
    // By its package: what a benchmark needs is far less than the whole host, which need not be optimised for this.
    let bench = |package: &str, name: &str| {
        let mut command = cargo();
        command.args(["bench", "--package", package, "--bench", name]).current_dir(workspace.root());
        command
    };
    match args.what {
        What::Queue => {
            let bench = || bench("workhost-queue", "queue");
            run_program(bench().arg("--no-run"))?;
            let programs = Programs::provide()?;
            say(&format!("starting a server of our own with {}", programs.described()));
            let server = Server::start(&programs, Purpose::Benchmarks)?;
            run_program(bench().arg("--").args(&args.arguments).env("WORKHOST_TEST_POSTGRES", server.url()))
        }
        What::Attempt => {
            handlers::build(&workspace)?;
            let echo = workspace.components_dir().join("guests/echo.wasm");
            let mut bench = bench("workhost-runtime", "attempt");
            run_program(bench.arg("--").arg("--component").arg(echo).args(&args.arguments))
        }
        What::Pickup => {
            handlers::build(&workspace)?;
            run_program(cargo().current_dir(workspace.root()).args([
                "build",
                "--bin",
                "workhost",
                "--example",
                "pickup",
            ]))?;
            let server = Server::start(&Programs::provide()?, Purpose::Benchmarks)?;
            let built = workspace.target_dir().join("debug");
            let mut pickup = Command::new(built.join("examples/pickup"));
            pickup.arg("--program").arg(built.join("workhost")).arg("--components").arg(workspace.components_dir());
            run_program(pickup.arg("--postgres").arg(server.url()).args(&args.arguments))
        }
    }
}
