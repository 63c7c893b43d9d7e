//! `cargo xtask soak`: hours of trouble for real hosts, with all that it needs set up.

use anyhow::{Context as _, Result};

use crate::handlers;
use crate::postgres::{Programs, Purpose, Server};
use crate::process::{AlreadyTold, cargo, run as run_program, say};
use crate::workspace::Workspace;

/// Give real hosts hours of work and of trouble, and see whether every item is accounted for
///
/// Hosts are killed, restarted, stopped and cut off, items are called off, and the store is out of reach now and then. At
/// the end an oracle compares what clients were told, what the store has, and what the handlers noted outside of it.
/// `docs/soak.md` tells how to read what it says. `cargo xtask test` runs two minutes of it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask soak                                   ten minutes, both stores side by side
  cargo xtask soak --for 4h                          as long as you like
  cargo xtask soak --store postgres --seed 42        the choices of an earlier run, on one store
  cargo xtask soak --for 4h | tee soak.log           plain lines instead of bars

Exit status: 0 all holds, 1 it does not, or could not be run. Logs and the outside log stay in target/soak.")]
pub(crate) struct Args {
    /// For how long, the end included, as in `90s`, `10m` or `4h`
    #[arg(long = "for", value_name = "TIME", default_value = "10m")]
    time: String,
    /// On which store
    #[arg(long, value_enum, default_value_t = Store::Both)]
    store: Store,
    /// Whence the choices come; drawn and printed if you name none. The same seed makes the same choices, but what happens
    /// when is up to the machine
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Store {
    /// One host on a file
    Sqlite,
    /// Three hosts on a server of our own
    Postgres,
    /// Side by side
    Both,
}

/// Runs the command.
///
/// # Errors
/// When something does not build or start, or not all held.
pub(crate) fn run(args: &Args) -> Result<()> {
    let workspace = Workspace::load()?;
    handlers::build(&workspace)?;
    run_program(cargo().current_dir(workspace.root()).args(["build", "--bin", "workhost", "--example", "soak"]))?;
    let built = workspace.target_dir().join("debug");
    let mut soak = std::process::Command::new(built.join("examples/soak"));
    soak.args(["--for", &args.time]);
    soak.arg("--folder").arg(workspace.target_dir().join("soak"));
    soak.arg("--components").arg(workspace.components_dir());
    soak.arg("--program").arg(built.join("workhost"));
    soak.args(args.seed.iter().flat_map(|seed| ["--seed".to_owned(), seed.to_string()]));
    soak.args(["--store", args.store.name()]);
    let server = args.store.server()?;
    if let Some(server) = &server {
        soak.env("WORKHOST_TEST_POSTGRES", server.url());
    }
    // Its output is the person's: it draws on a terminal.
    let status = soak.status().context("cannot start the soak")?;
    if status.success() { Ok(()) } else { Err(AlreadyTold.into()) }
}

impl Store {
    fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Both => "both",
        }
    }

    /// The server that it needs, if any.
    fn server(self) -> Result<Option<Server>> {
        if self == Self::Sqlite {
            return Ok(None);
        }
        let programs = Programs::provide()?;
        say(&format!("starting a server of our own with {}", programs.described()));
        Server::start(&programs, Purpose::Tests).map(Some)
    }
}
