//! What loading a component and running one attempt cost, beside plain wasmtime with the same component.
//!
//! `cargo xtask bench attempt` runs it. Machines are noisy: ours and plain wasmtime are measured in turns, and the ratio
//! counts.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and ends where it cannot go on")]

mod plain;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use comfy_table::{Table, presets};
use serde_json::json;
use workhost_runtime::{Backends, CompileCache, Control, Ended, Grants, Handler, Job, Limits, Runtime};

/// What loading a component and running one attempt cost
#[derive(Parser)]
struct Args {
    /// The component; it is run with the payload
    #[arg(long)]
    component: PathBuf,
    /// The payload of each attempt
    #[arg(long, default_value = r#"{"message": "hello"}"#)]
    payload: String,
    /// Attempts in a round
    #[arg(long, default_value_t = 2000)]
    attempts: u32,
    /// Rounds; the median counts
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Given by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

/// One thread, as the floor is measured on one.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args = Args::parse();
    let folder = tempfile::tempdir().unwrap();
    let cold = median(&args, async || load(&args.component, None).await.1).await;
    load(&args.component, Some(folder.path())).await;
    let cached = median(&args, async || load(&args.component, Some(folder.path())).await.1).await;
    let (handler, _) = load(&args.component, Some(folder.path())).await;
    let mut plain = plain::Plain::load(&args.component);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..=args.rounds {
        ours.push(attempts(&handler, &args).await);
        theirs.push(plain.attempts(&job(&args), args.attempts));
    }
    // The first round warmed up.
    let (ours, theirs) = (middle(ours.split_off(1)), middle(theirs.split_off(1)));
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    let micros = |duration: Duration| format!("{:.1} µs", duration.as_secs_f64() * 1e6);
    let millis = |duration: Duration| format!("{:.1} ms", duration.as_secs_f64() * 1e3);
    if args.json {
        let seconds = |duration: Duration| duration.as_secs_f64();
        println!(
            "{}",
            json!({
                "component": args.component, "bytes": std::fs::metadata(&args.component).unwrap().len(),
                "cold_load_seconds": seconds(cold), "cached_load_seconds": seconds(cached),
                "attempt_seconds": seconds(ours), "plain_attempt_seconds": seconds(theirs), "ratio": ratio,
            })
        );
        return;
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_header(["what", "time"]);
    table.add_row(["load: compile, check, describe".to_owned(), millis(cold)]);
    table.add_row(["load: from the cache, check, describe".to_owned(), millis(cached)]);
    table.add_row(["attempt: sandbox with all brakes, call, result".to_owned(), micros(ours)]);
    table.add_row(["plain wasmtime: instantiate, call".to_owned(), micros(theirs)]);
    table.add_row(["ratio".to_owned(), format!("{ratio:.2}")]);
    println!("{table}");
}

/// A runtime of its own, and how long it took to load the component.
async fn load(component: &Path, cache: Option<&Path>) -> (Handler, Duration) {
    let runtime = Runtime::with_cache(Limits::default(), cache.map(CompileCache::new)).unwrap();
    let begun = Instant::now();
    let handler = runtime.load(component, Grants::default(), &Backends::default()).await.unwrap();
    (handler, begun.elapsed())
}

fn job(args: &Args) -> Job {
    Job { id: 1, kind: "echo".into(), scope: None, attempt: 1, payload: args.payload.clone(), resume_from: None }
}

/// The time of one attempt.
async fn attempts(handler: &Handler, args: &Args) -> Duration {
    let begun = Instant::now();
    for _ in 0..args.attempts {
        let ended = handler.run(job(args), Arc::new(Control::new())).await;
        assert!(matches!(ended, Ended::Done(_)), "{ended:?}");
    }
    begun.elapsed() / args.attempts
}

async fn median(args: &Args, measure: impl AsyncFn() -> Duration) -> Duration {
    let mut all = Vec::new();
    for _ in 0..args.rounds.min(5) {
        all.push(measure().await);
    }
    middle(all)
}

fn middle(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all[all.len() / 2]
}
