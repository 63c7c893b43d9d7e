//! `cargo xtask test`: every test there is, with all that it needs set up.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::libtest::{Count, Reader};
use crate::postgres::{Programs, Purpose, Server, pgbouncer};
use crate::process::{AlreadyTold, cargo, run as run_program, say};
use crate::tally::Tally;
use crate::workspace::Workspace;
use crate::{handlers, languages};

/// Run the tests, with all that they need set up: components, PostgreSQL, PgBouncer
///
/// Ends with a table of what ran and a line that counts it: `312 passed, 0 failed`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask test                              everything, on both stores
  cargo xtask test --suite unit                 needs neither PostgreSQL nor the wasm target
  cargo xtask test --suite integration lease    tests whose name contains `lease`
  cargo xtask test stale -- --nocapture         what follows `--` is for the test programs

PostgreSQL's programs and PgBouncer are taken from this machine, or else fetched; the server is started in a
temporary folder for this run alone, and no other server is touched.")]
pub(crate) struct Args {
    /// Which tests
    #[arg(long, value_enum, default_value_t = Suites::All)]
    suite: Suites,
    /// Only tests whose name contains this
    filter: Option<String>,
    /// Arguments for the test programs
    #[arg(last = true)]
    arguments: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Suites {
    /// Each crate's own tests, the handlers' included
    Unit,
    /// The contract on both stores, and the real program with real components
    Integration,
    /// Both
    All,
}

impl Args {
    /// What stands behind `--` on cargo's command line.
    fn for_programs(&self) -> impl Iterator<Item = &str> {
        std::iter::once("--").chain(self.filter.as_deref()).chain(self.arguments.iter().map(String::as_str))
    }
}

/// Runs the command.
///
/// # Errors
/// When a test failed, or a suite ran none.
pub(crate) fn run(args: &Args) -> Result<()> {
    let workspace = Workspace::load()?;
    let mut tally = Tally::default();
    if args.suite != Suites::Integration {
        let mut counts = unit(args, &workspace)?;
        if args.suite == Suites::All {
            // The tests that wait for a server are not skipped: they run among the integration tests.
            counts.iter_mut().for_each(|count| count.ignored = 0);
        }
        tally.add("unit", counts);
    }
    if args.suite != Suites::Unit {
        integration(args, &workspace, &mut tally)?;
    }
    let complaint = tally.complaint(args.filter.is_some());
    if let Some(complaint) = &complaint {
        say(complaint);
    }
    // Last of all, so that the end of the output is the count.
    println!("\n{tally}");
    if complaint.is_some() { Err(AlreadyTold.into()) } else { Ok(()) }
}

/// The tests inside the crates. Plain `cargo test` means the host's; the handlers' are run natively.
fn unit(args: &Args, workspace: &Workspace) -> Result<Vec<Count>> {
    let mut counts = tests(workspace, args, "host", &[], &[], &[])?;
    let handlers: Vec<&str> =
        workspace.below("handlers").flat_map(|package| ["--package", package.name.as_str()]).collect();
    // No selection at all would mean the host again.
    if !handlers.is_empty() {
        counts.extend(tests(workspace, args, "handlers", &handlers, &[], &[])?);
    }
    Ok(counts)
}

/// The test targets that need a server or components, each a suite of its own.
fn integration(args: &Args, workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    let targets = workspace.integration_tests();
    if targets.is_empty() {
        bail!("no package has a test target with `test = false`\nhint: declare one with [[test]] in its Cargo.toml");
    }
    handlers::build(workspace)?;
    languages::build(workspace)?;
    let programs = Programs::provide()?;
    say(&format!("starting a server of our own with {}", programs.described()));
    let server = Server::start(&programs, Purpose::Tests)?;
    let components = workspace.components_dir().display().to_string();
    let pooler = pgbouncer::provide()?.display().to_string();
    let folder = programs.folder().display().to_string();
    let libraries = programs.libraries().map(|folder| folder.display().to_string());
    let mut environment = vec![
        ("WORKHOST_TEST_POSTGRES", server.url()),
        // For tests that stop or promote a server, and so need one of their own.
        ("WORKHOST_TEST_POSTGRES_PROGRAMS", &folder),
        ("WORKHOST_TEST_PGBOUNCER", &pooler),
        ("WORKHOST_TEST_COMPONENTS", &components),
    ];
    environment.extend(libraries.as_deref().map(|folder| ("WORKHOST_TEST_POSTGRES_LIBRARIES", folder)));
    // What a crate tests inside itself and needs the server for is marked as ignored there.
    tally.add("integration", tests(workspace, args, "host", &["--lib"], &environment, &["--ignored"])?);
    // Without `--package`: cargo would choose other features for the dependencies, and build them anew.
    for target in targets {
        tally.add("integration", tests(workspace, args, target, &["--test", target], &environment, &[])?);
    }
    Ok(())
}

/// Builds, runs and counts the tests that cargo selects by some options; the test programs get what stands for
/// them behind `--`. What does not compile counts as a failure, so that the other suites still run.
fn tests(
    workspace: &Workspace,
    args: &Args,
    name: &str,
    selection: &[&str],
    environment: &[(&str, &str)],
    for_programs: &[&str],
) -> Result<Vec<Count>> {
    let test = || {
        let mut command = cargo();
        command.arg("test").args(selection).current_dir(workspace.root());
        command
    };
    // First alone, so that cargo shows its progress as ever.
    if let Err(error) = run_program(test().arg("--no-run")) {
        say(&format!("{error:#}"));
        return Ok(vec![Count::broken(name)]);
    }
    let mut command = test();
    command.arg("--no-fail-fast").args(args.for_programs()).args(for_programs).envs(environment.iter().copied());
    // The test programs know no test that is left out while it runs: it writes a line here, and counts as passed there.
    let left_out = tempfile::NamedTempFile::new()?;
    command.env("WORKHOST_TEST_LEFT_OUT", left_out.path());
    let (mut counts, succeeded) = counted(command)?;
    let left_out = std::fs::read_to_string(left_out.path())?;
    left_out.lines().for_each(|test| say(&format!("left out: {test}")));
    if let Some(count) = counts.last_mut() {
        count.leave_out(left_out.lines().count() as u64);
    }
    if !succeeded && counts.iter().all(|count| count.failed == 0) {
        counts.push(Count::broken(name));
    }
    Ok(counts)
}

/// Passes a test run's output on while counting it; whether cargo was content comes along.
fn counted(mut command: Command) -> Result<(Vec<Count>, bool)> {
    // One pipe for both streams: what cargo says on stderr names the program whose results follow on stdout.
    let (output, input) = std::io::pipe()?;
    command.stdin(Stdio::null()).stdout(input.try_clone()?).stderr(input);
    let mut running = command.spawn().context("cannot start `cargo`")?;
    // It holds the pipe's other end, which would keep us waiting for more.
    drop(command);
    let mut reader = Reader::default();
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        reader.line(&line);
    }
    let succeeded = running.wait()?.success();
    Ok((reader.end(), succeeded))
}
