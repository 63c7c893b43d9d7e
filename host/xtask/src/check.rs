//! `cargo xtask check`: what must be clean before a change is shared, tests apart.

use std::fmt::Display;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::{AlreadyTold, cargo, run as run_program, say};
use crate::workspace::Workspace;
use crate::{architecture, migrations, mutants};

/// Check format, lints, docs, the migrations and the architecture rules
///
/// Each check runs, also after one that failed, so that one run tells everything.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask check
  cargo xtask check --only architecture")]
pub(crate) struct Args {
    /// Run one check alone
    #[arg(long, value_enum)]
    only: Option<Check>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Check {
    /// `cargo fmt --all` would change nothing
    Format,
    /// Who may depend on whom, who may touch the queue's table, who knows kinds by name
    Architecture,
    /// Each migration is on both stores, in its place in the order, and has its line in the changelog
    Migrations,
    /// Whatever `cargo mutants` leaves out has its reason
    Mutants,
    /// clippy is content with every crate and target, the handlers' and guests' included
    Lints,
    /// The documentation builds without a warning
    Docs,
}

const ALL: [Check; 6] =
    [Check::Format, Check::Architecture, Check::Migrations, Check::Mutants, Check::Lints, Check::Docs];

/// Runs the command.
///
/// # Errors
/// When a check finds something; what it found went to stderr.
pub(crate) fn run(args: &Args) -> Result<()> {
    let workspace = Workspace::load()?;
    let mut failed = Vec::new();
    for check in ALL.into_iter().filter(|check| args.only.is_none_or(|only| only == *check)) {
        let name = format!("{check:?}").to_lowercase();
        say(&format!("checking {name}"));
        if let Err(error) = check.run(&workspace) {
            say(&format!("{error:#}"));
            failed.push(name);
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    say(&format!("not clean: {}", failed.join(", ")));
    Err(AlreadyTold.into())
}

impl Check {
    fn run(self, workspace: &Workspace) -> Result<()> {
        let cargo = |arguments: &[&str]| -> Command {
            let mut cargo = cargo();
            cargo.args(arguments).current_dir(workspace.root());
            cargo
        };
        match self {
            Self::Format => {
                run_program(&mut cargo(&["fmt", "--all", "--check"])).context("`cargo fmt --all` mends this")
            }
            Self::Lints => {
                let clippy = |targets: &[&str]| {
                    let mut clippy = cargo(&["clippy", "--workspace", "--locked"]);
                    run_program(clippy.args(targets).args(["--", "-D", "warnings"]))
                };
                clippy(&["--all-targets"])?;
                // By "all" cargo means those that plain `cargo test` runs.
                let tests: Vec<&str> =
                    workspace.integration_tests().into_iter().flat_map(|test| ["--test", test]).collect();
                clippy(&tests)
            }
            Self::Docs => {
                run_program(cargo(&["doc", "--workspace", "--no-deps", "--locked"]).env("RUSTDOCFLAGS", "-D warnings"))
            }
            Self::Architecture => none(&architecture::violations(workspace)?, "places break the architecture's rules"),
            Self::Mutants => none(&mutants::findings(workspace)?, "mutants are left out without a reason"),
            Self::Migrations => none(&migrations::findings(&workspace.root())?, "things are wrong with the migrations"),
        }
    }
}

/// Tells what was found, and fails if that is anything.
fn none(found: &[impl Display], what: &str) -> Result<()> {
    for one in found {
        say(&one.to_string());
    }
    anyhow::ensure!(found.is_empty(), "{} {what}", found.len());
    Ok(())
}
