//! What the queue's verbs cost, beside backlogs of every kind.
//!
//! `cargo xtask bench` runs it, with a PostgreSQL server of its own; `cargo xtask bench -- --help` tells its options.
//! Machines are noisy: each scenario is measured in turns with an empty store of the same run, and the ratio counts.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "results on stdout, progress on stderr")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on has nothing to tell")]

mod backlog;
mod database;
mod held;
mod measure;
mod report;

use clap::{Parser, ValueEnum};

use backlog::Backlog;
use database::{Database, Engine};
use measure::{Measure, in_turns};
use report::{Line, Report};

/// What the queue's verbs cost
#[derive(Parser)]
struct Args {
    /// The stores to measure; PostgreSQL is the server that WORKHOST_TEST_POSTGRES names
    #[arg(long, value_enum, default_values_t = [Engine::Sqlite, Engine::Postgres])]
    store: Vec<Engine>,
    /// Only these parts
    #[arg(long, value_enum, default_values_t = [Part::Empty, Part::Backlogs, Part::Running, Part::Held])]
    part: Vec<Part>,
    /// Only beside these backlogs
    #[arg(long, value_enum, default_values_t = Backlog::value_variants().to_vec())]
    beside: Vec<Backlog>,
    /// Finished items beside which the verbs are measured
    #[arg(long, default_value_t = 5_000_000)]
    finished: u64,
    /// Queued items in each backlog
    #[arg(long, default_value_t = 200_000)]
    backlog: u64,
    /// Items that pass while a transaction is held open
    #[arg(long, default_value_t = 300_000)]
    held: u64,
    /// How often each figure is taken; the median counts
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Given by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Each verb on an empty store, by batch size
    Empty,
    /// Claim and finish beside backlogs, against an empty store
    Backlogs,
    /// Finish beside many running items, against an empty store
    Running,
    /// Claim and finish while another session keeps a transaction open
    Held,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let args = Args::parse();
    let mut report = Report::default();
    for &engine in &args.store {
        for part in &args.part {
            let lines = match part {
                Part::Empty => empty(engine, &args).await,
                Part::Backlogs => backlogs(engine, &args).await,
                Part::Running => running(engine, &args).await,
                Part::Held => held::lines(engine, args.held).await,
            };
            report.lines.extend(lines);
        }
    }
    println!("{}", if args.json { report.json() } else { report.table() });
}

async fn empty(engine: Engine, args: &Args) -> Vec<Line> {
    let store = Database::new(engine).await;
    let mut lines = Vec::new();
    for measure in Measure::ALL {
        eprintln!("{engine}: {measure}");
        let rates = in_turns(&[&store], measure, args.rounds).await;
        lines.push(Line {
            engine,
            beside: "nothing".to_owned(),
            what: measure.to_string(),
            rate: rates[0],
            ratio: None,
        });
    }
    store.remove().await;
    lines
}

async fn backlogs(engine: Engine, args: &Args) -> Vec<Line> {
    let mut lines = Vec::new();
    for &backlog in &args.beside {
        let count = if backlog == Backlog::Finished { args.finished } else { args.backlog };
        let (empty, full) = (Database::new(engine).await, Database::new(engine).await);
        eprintln!("{engine}: filling in {}", backlog.named(count));
        backlog.fill(&full, count).await;
        for measure in [Measure::ClaimFinish(1), Measure::ClaimFinish(10), Measure::ClaimFinish(100)] {
            let rates = in_turns(&[&empty, &full], measure, args.rounds).await;
            let ratio = Some(rates[1] / rates[0]);
            lines.push(Line { engine, beside: backlog.named(count), what: measure.to_string(), rate: rates[1], ratio });
        }
        empty.remove().await;
        full.remove().await;
    }
    lines
}

async fn running(engine: Engine, args: &Args) -> Vec<Line> {
    const RUNNING: u64 = 30_000;
    let (empty, full) = (Database::new(engine).await, Database::new(engine).await);
    Backlog::Running.fill(&full, RUNNING).await;
    let rates = in_turns(&[&empty, &full], Measure::Finish(100), args.rounds).await;
    let (beside, what) = (Backlog::Running.named(RUNNING), Measure::Finish(100).to_string());
    empty.remove().await;
    full.remove().await;
    vec![Line { engine, beside, what, rate: rates[1], ratio: Some(rates[1] / rates[0]) }]
}
