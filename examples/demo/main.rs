//! The demonstration: real files, an application's database, the real daemon, and what became of it.
//!
//! `cargo xtask demo` builds everything and runs this.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a demonstration shows something")]

mod database;
mod files;
mod progress;
mod report;
mod scene;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use clap::Parser;
use tokio::signal::unix::SignalKind;
use workhost_queue::{ConnectOptions, Filter, Status, WorkItem, connect};

use scene::Scene;

/// Runs three real handlers from a durable queue and shows what they did
#[derive(Parser)]
#[command(
    bin_name = "cargo xtask demo",
    after_help = "\
Examples:
  cargo xtask demo
  cargo xtask demo --dir ~/Pictures --dir /usr/share/doc
  cargo xtask demo | tee demo.log        plain lines instead of bars"
)]
struct Args {
    /// Crawl this folder instead of made ones (may be repeated); it is only read
    #[arg(long, value_name = "FOLDER")]
    dir: Vec<PathBuf>,
    /// Only validate the registry of all handlers, strictly, with annotations as CI shows them
    #[arg(long)]
    validate: bool,
    /// Where the demonstration lives; made anew at each run
    #[arg(long, value_name = "FOLDER", hide = true)]
    folder: PathBuf,
    /// Where the built components lie
    #[arg(long, value_name = "FOLDER", hide = true)]
    components: PathBuf,
    /// The built program
    #[arg(long, value_name = "FILE", hide = true)]
    program: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    let ended = tokio::select! {
        ended = run(Args::parse()) => ended,
        // What was begun is dropped, the daemon with it.
        () = signal(SignalKind::interrupt()) => Err(anyhow!("ended by a signal before the work was done")),
        () = signal(SignalKind::terminate()) => Err(anyhow!("ended by a signal before the work was done")),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn signal(kind: SignalKind) {
    match tokio::signal::unix::signal(kind) {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    }
}

async fn run(args: Args) -> Result<()> {
    let begun = Instant::now();
    let scene = Scene::prepare(&args.folder, &args.components, &args.program, &args.dir).await?;
    if args.validate {
        return scene.validate();
    }
    let mut daemon = scene.serve()?;
    println!("workhost serves {} (log: {})", scene.store().display(), scene.log().display());
    for scope in &scene.scopes {
        scene.enqueue_crawl(&scope.name)?;
    }
    let ended = follow(&scene, &mut daemon).await;
    daemon.stop()?;
    let items = ended?;
    report::print(&scene, &items, begun.elapsed());
    let failed = items.iter().filter(|item| item.status != Status::Succeeded).count();
    ensure!(failed == 0, "{failed} items did not succeed: the log is {}", scene.log().display());
    Ok(())
}

/// Shows the items' progress until all have ended.
async fn follow(scene: &Scene, daemon: &mut scene::Daemon) -> Result<Vec<WorkItem>> {
    let queue = connect(&format!("sqlite://{}", scene.store().display()), ConnectOptions::default()).await?;
    let expected = 2 + scene.scopes.len();
    let mut view = progress::View::new(scene);
    loop {
        let mut items = queue.list(&Filter { limit: 1000, ..Filter::default() }).await?;
        items.sort_by_key(|item| item.id);
        view.show(&items);
        if items.len() >= expected && items.iter().all(|item| item.status.is_finished()) {
            view.finish();
            return Ok(items);
        }
        daemon.check().context("the daemon ended before the work was done")?;
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}
