//! The command line.

mod enqueue;
mod inspect;
mod kinds;
mod lock;
mod logging;
mod output;
mod progress;
mod reload;
mod show;
mod validate;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use workhost_queue::{ConnectOptions, Queue, connect};

use crate::config::{self, Config};
use crate::finding::Findings;

/// A durable work queue whose handlers are WebAssembly components.
#[derive(Parser)]
#[command(name = "workhost", version, arg_required_else_help = true)]
struct Cli {
    /// The configuration file
    #[arg(long, short, global = true, value_name = "FILE", default_value = "workhost.toml", env = "WORKHOST_CONFIG")]
    config: PathBuf,
    /// What to log, as in `info` or `workhost_daemon=debug,warn`
    #[arg(long, global = true, value_name = "FILTER", env = "WORKHOST_LOG", default_value = "info")]
    log: String,
    /// How to log
    #[arg(long, global = true, value_enum, env = "WORKHOST_LOG_FORMAT", default_value = "text")]
    log_format: logging::Format,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the daemon: worker, schedules and HTTP API in one process
    #[command(after_help = "Example:\n  workhost serve --config workhost.toml")]
    Serve,
    /// Check configuration and registry as `serve` does, and start nothing
    Validate(validate::Args),
    /// Ask the running daemon to take in the configuration's kinds and handlers anew
    Reload(reload::Args),
    /// Write down what the components are, for reviews and for `validate --locked`
    Lock(lock::Args),
    /// Say what a component is: its kinds, its imports, and the grants that it needs
    Inspect(inspect::Args),
    /// Put a work item into the queue
    Enqueue(enqueue::Args),
    /// List the kinds: how much of each there is, and which hosts run it
    Kinds(kinds::Args),
    /// List work items, newest first
    List(show::ListArgs),
    /// Show one work item whole
    Show(show::ShowArgs),
    /// Call a work item off: at once if queued, by request if running
    Cancel(show::CancelArgs),
}

/// Runs the program with the process's arguments.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Err(error) = logging::init(&cli.log, cli.log_format) {
        return fail(&error);
    }
    match run(cli) {
        Ok(code) => code,
        Err(error) => fail(&error),
    }
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let command = match cli.command {
        Command::Validate(args) => {
            // What could not be said was not checked either.
            return Ok(validate::run(&cli.config, &args).unwrap_or_else(could_not));
        }
        Command::Inspect(args) => return inspect::run(&args),
        Command::Serve => {
            crate::serve::serve(&cli.config)?;
            return Ok(ExitCode::SUCCESS);
        }
        Command::Reload(args) => {
            return Ok(block_on(reload::run(&cli.config, &args)).unwrap_or_else(could_not));
        }
        command => command,
    };
    let config = config::load(&cli.config)?;
    match command {
        Command::Lock(args) => return block_on(lock::run(&config, args)),
        Command::Enqueue(args) => block_on(enqueue::run(&config, args))?,
        Command::Kinds(args) => block_on(kinds::run(&config, args))?,
        Command::List(args) => block_on(show::list(&config, args))?,
        Command::Show(args) => return block_on(show::show(&config, args)),
        Command::Cancel(args) => return block_on(show::cancel(&config, args)),
        Command::Serve | Command::Validate(_) | Command::Inspect(_) | Command::Reload(_) => {
            unreachable!("handled above")
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[expect(clippy::print_stderr, reason = "the program's own last word")]
fn fail(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref::<Findings>() {
        Some(findings) => eprintln!("{findings}"),
        None => eprintln!("error: {error:#}"),
    }
    ExitCode::FAILURE
}

/// The status of a command that has one of its own for what it could not do at all.
fn could_not(error: anyhow::Error) -> ExitCode {
    fail(&error);
    ExitCode::from(2)
}

fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("cannot start the threads")?;
    let ended = runtime.block_on(future);
    // A thread that is still at work, such as a check that lasts, is not waited for.
    runtime.shutdown_background();
    ended
}

/// The store of this configuration. What is missing of it, or of this build's schema, is made if `create` says so.
async fn store(config: &Config, create: bool) -> anyhow::Result<Arc<dyn Queue>> {
    let options = ConnectOptions { create, ..config.store.options(&config.limits) };
    let queue = connect(&config.source.resolve_url(&config.store.url), options).await?;
    if create {
        queue.migrate().await?;
    } else {
        queue.check().await?;
    }
    Ok(queue)
}
