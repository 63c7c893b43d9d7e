//! The soak as people run it: for as long as they like, with progress. `cargo xtask soak` builds everything and runs this.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod run;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Parser, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

use run::{Plan, Store, View, drawn_seed};

/// Hours of trouble for real hosts, and a judgement at the end
#[derive(Parser)]
#[command(bin_name = "cargo xtask soak")]
struct Args {
    /// For how long
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    time: Duration,
    /// On which store
    #[arg(long, value_enum)]
    store: Which,
    /// Whence the choices come
    #[arg(long)]
    seed: Option<u64>,
    /// Where it lives; each store's part is made anew
    #[arg(long, value_name = "FOLDER")]
    folder: PathBuf,
    /// Where the built components lie
    #[arg(long, value_name = "FOLDER")]
    components: PathBuf,
    /// The built program
    #[arg(long, value_name = "FILE")]
    program: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    Sqlite,
    Postgres,
    Both,
}

#[tokio::main]
async fn main() -> ExitCode {
    let ended = tokio::select! {
        ended = soak(Args::parse()) => ended,
        // What was begun is dropped, the hosts with it.
        () = asked_to_end() => Err(anyhow::anyhow!("ended by a signal before its time: there is no verdict")),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn soak(args: Args) -> Result<()> {
    let seed = args.seed.unwrap_or_else(drawn_seed);
    println!("seed {seed}, for {} s", args.time.as_secs());
    let stores: &[Store] = match args.store {
        Which::Sqlite => &[Store::Sqlite],
        Which::Postgres => &[Store::Postgres],
        Which::Both => &[Store::Sqlite, Store::Postgres],
    };
    let view = std::sync::Arc::new(View::new());
    let mut soaks = JoinSet::new();
    for &store in stores {
        let plan = Plan {
            store,
            seed,
            total: args.time,
            folder: args.folder.join(store.name()),
            components: args.components.clone(),
            program: args.program.clone(),
            server: std::env::var("WORKHOST_TEST_POSTGRES").ok(),
        };
        let view = view.clone();
        soaks.spawn(async move { run::run(plan, &view).await });
    }
    let mut reports = Vec::new();
    while let Some(report) = soaks.join_next().await {
        reports.push(report??);
    }
    for report in &reports {
        println!("\n{report}");
    }
    if reports.iter().any(|report| !report.is_clean()) {
        bail!("not all held: see above");
    }
    Ok(())
}

async fn asked_to_end() {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
