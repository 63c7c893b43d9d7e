//! `cargo xtask schema`: the schema as a store really has it, for people to read.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::postgres::{Programs, Purpose, Server};
use crate::process::{cargo, read, run as run_program, say};
use crate::workspace::Workspace;

/// Write docs/schema.sql, which shows the schema of both stores after all migrations
///
/// The program itself migrates an empty store of each kind, and the schema is read back from the database.
/// PostgreSQL's server is started in a temporary folder, as for the tests.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask schema             after a change of the migrations
  cargo xtask schema --check     as CI does: change nothing, and show what differs")]
pub(crate) struct Args {
    /// Write nothing; fail if the file is not what the migrations make
    #[arg(long)]
    check: bool,
}

const FILE: &str = "docs/schema.sql";

const HEAD: &str = "\
-- The store's schema after all migrations, on PostgreSQL and on SQLite.
--
-- Made by `cargo xtask schema`, which migrates an empty store of each kind and reads back what it has then. To change
-- the schema, add a migration. Left out are owners, rows, and the bodies of PostgreSQL's functions; migrations/
-- has them, and says why things are as they are.
";

/// Runs the command.
///
/// # Errors
/// When a store cannot be made, or, where it was only to be checked, the file differs.
pub(crate) fn run(args: &Args) -> Result<()> {
    let workspace = Workspace::load()?;
    let made = made(&workspace)?;
    let file = workspace.root().join(FILE);
    if !args.check {
        fs::write(&file, made).with_context(|| format!("cannot write {}", file.display()))?;
        println!("{FILE} is written");
        return Ok(());
    }
    let kept = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    if let Some(difference) = difference(&kept, &made)? {
        eprintln!("{difference}");
        bail!("{FILE} is not what the migrations make\nhint: `cargo xtask schema` writes it anew");
    }
    println!("{FILE} is what the migrations make");
    Ok(())
}

/// What the file should say.
fn made(workspace: &Workspace) -> Result<String> {
    // The queue knows how to migrate a store and read its schema; this crate knows no SQL.
    run_program(cargo().current_dir(workspace.root()).args(["build", "--example", "schema"]))?;
    let program = workspace.target_dir().join("debug/examples/schema");
    let shown = |url: &str| read(Command::new(&program).env("WORKHOST_SCHEMA_STORE", url));
    let programs = Programs::provide()?;
    say(&format!("starting a server of our own with {}", programs.described()));
    let server = Server::start(&programs, Purpose::Tests)?;
    let folder = tempfile::tempdir()?;
    Ok(format!(
        "{HEAD}\n\n-- PostgreSQL\n\n{}\n\n\n-- SQLite\n\n{}\n",
        shown(server.url())?,
        shown(&format!("sqlite://{}", folder.path().join("store.db").display()))?
    ))
}

/// What differs, as `diff` shows it: what is kept with `-`, what it should be with `+`.
fn difference(kept: &str, made: &str) -> Result<Option<String>> {
    if kept == made {
        return Ok(None);
    }
    let folder = tempfile::tempdir()?;
    let mut diff = Command::new("diff");
    diff.args(["-u", "-L", FILE, "-L", "what the migrations make"]);
    for (name, text) in [("kept", kept), ("made", made)] {
        let file = folder.path().join(name);
        fs::write(&file, text)?;
        diff.arg(file);
    }
    let output = diff.output().context("cannot start `diff`, which shows what is wrong")?;
    Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_file_is_told_line_by_line() {
        let told = difference("create table a;\n-- old\n", "create table a;\n-- new\n").unwrap().unwrap();
        assert!(told.starts_with("--- docs/schema.sql"), "{told}");
        assert!(told.contains("\n create table a;\n--- old\n+-- new\n"), "{told}");
    }

    #[test]
    fn a_file_that_is_as_it_should_be_is_not_told_of() {
        assert_eq!(difference("a\n", "a\n").unwrap(), None);
    }
}
