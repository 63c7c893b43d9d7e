//! The project's own commands: `cargo xtask <command>`.
//!
//! One file per command; each sets up by itself what it needs (`test` builds the components, which
//! needs the toolchain), so that a person never has to know the order.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool talks to a person: results on stdout, the rest on stderr"
)]

mod apt;
mod architecture;
mod bench;
mod cache;
mod check;
mod demo;
mod handlers;
mod hooks;
mod languages;
mod libtest;
mod migrations;
mod mutants;
mod postgres;
mod process;
mod schema;
mod soak;
mod tally;
mod test;
mod toolchain;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The commands that work on the workhost repository itself.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

const EXAMPLES: &str = "\
Examples:
  cargo xtask demo                      real handlers at work, from a durable queue
  cargo xtask test                      run every test, on both stores
  cargo xtask test --suite unit claim   unit tests whose name contains `claim`
  cargo xtask soak --for 4h             hours of trouble, and whether every item is accounted for
  cargo xtask bench                     what the queue's verbs cost
  cargo xtask handlers                  build the components into target/components
  cargo xtask check                     format, lints, docs, migrations and architecture rules
  cargo xtask schema                    write docs/schema.sql anew from the migrations
  cargo xtask hooks                     run the checks before each commit and push";

#[derive(Subcommand)]
enum Task {
    Demo(demo::Args),
    Toolchain(toolchain::Args),
    Handlers(handlers::Args),
    Test(test::Args),
    Bench(bench::Args),
    Check(check::Args),
    Schema(schema::Args),
    Soak(soak::Args),
    Hooks(hooks::Args),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Task::Demo(args) => demo::run(&args),
        Task::Toolchain(args) => toolchain::run(&args),
        Task::Handlers(args) => handlers::run(&args),
        Task::Test(args) => test::run(&args),
        Task::Bench(args) => bench::run(&args),
        Task::Check(args) => check::run(&args),
        Task::Schema(args) => schema::run(&args),
        Task::Soak(args) => soak::run(&args),
        Task::Hooks(args) => hooks::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !error.is::<process::AlreadyTold>() {
                eprintln!("error: {error:#}");
            }
            ExitCode::FAILURE
        }
    }
}
