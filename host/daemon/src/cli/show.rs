//! `workhost list`, `show` and `cancel`.

use std::process::ExitCode;

use anyhow::bail;
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;
use workhost_queue::{AttemptRecord, CancelAnswer, Filter, ItemId, Status, WorkItem};

use super::output;
use crate::config::Config;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  workhost list --status failed\n  workhost list --kind crawl --json")]
pub(super) struct ListArgs {
    /// Only this status (may be repeated): queued, running, succeeded, failed, cancelled
    #[arg(long)]
    status: Vec<Status>,
    /// Only this kind
    #[arg(long)]
    kind: Option<String>,
    /// Only this scope
    #[arg(long)]
    scope: Option<String>,
    /// Only items older than this one: the next page
    #[arg(long, value_name = "ID")]
    before: Option<i64>,
    /// How many at most
    #[arg(long, default_value_t = 50)]
    limit: u32,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[command(after_help = "Example:\n  workhost show 42")]
pub(super) struct ShowArgs {
    /// The item's id
    id: i64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  workhost cancel 42\n\nExit status: 0 cancelled or requested, 1 finished already or unknown."
)]
pub(super) struct CancelArgs {
    /// The item's id
    id: i64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn list(config: &Config, args: ListArgs) -> anyhow::Result<()> {
    let filter = Filter {
        statuses: args.status,
        kind: args.kind,
        scope: args.scope,
        before: args.before.map(ItemId),
        limit: args.limit,
    };
    let items = super::store(config, false).await?.list(&filter).await?;
    if args.json {
        output::line(serde_json::to_string(&items)?)?;
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["id", "kind", "scope", "status", "attempt", "changed", "what"]);
    for item in &items {
        table.add_row([
            item.id.to_string(),
            harmless(&item.kind),
            shortened(harmless(item.scope.as_deref().unwrap_or(""))),
            item.status.to_string(),
            item.attempt.to_string(),
            time(item.updated_at),
            shortened(what(config, item)),
        ]);
    }
    output::line(table)?;
    Ok(())
}

/// An item as `show --json` tells it.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    item: WorkItem,
    /// Those that ended otherwise than succeeded, newest first.
    attempts: Vec<AttemptRecord>,
}

pub(super) async fn show(config: &Config, args: ShowArgs) -> anyhow::Result<ExitCode> {
    let (store, id) = (super::store(config, false).await?, ItemId(args.id));
    let Some(item) = store.get(id).await? else {
        bail!("no work item {id} in {}", config.store.url);
    };
    let attempts = store.attempts(id).await?;
    if args.json {
        output::line(serde_json::to_string(&Shown { item, attempts })?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    let mut row = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            table.add_row([name.to_owned(), harmless(&value)]);
        }
    };
    row("id", Some(item.id.to_string()));
    row("kind", Some(item.kind.clone()));
    row("status", Some(item.status.to_string()));
    row("what", Some(what(config, &item)).filter(|what| !what.is_empty() && item.error.is_none()));
    row("error", item.error.clone());
    row("reason", item.reason.clone());
    row("scope", item.scope.clone());
    row("dedup key", item.dedup_key.clone());
    row("priority", Some(item.priority.to_string()));
    row("attempt", Some(item.attempt.to_string()));
    row("stalls", Some(item.stalls.to_string()));
    row("failures", Some(item.failures.to_string()));
    row("interruptions", Some(item.interruptions.to_string()));
    row("host", item.host.clone());
    row("handler", item.handler_digest.clone());
    row("payload", Some(item.payload.as_str().to_owned()));
    row("progress", item.progress.as_ref().map(|json| json.as_str().to_owned()));
    row("result", item.result.as_ref().map(|json| json.as_str().to_owned()));
    row("run at", Some(time(item.run_at)));
    row("created", Some(time(item.created_at)));
    row("started", item.started_at.map(time));
    row("lease until", item.lease_expires_at.map(time));
    row("cancel requested", item.cancel_requested_at.map(time));
    row("finished", item.finished_at.map(time));
    row("log", item.log_tail.clone());
    for attempt in attempts.iter().filter(|record| record.attempt != item.attempt) {
        let AttemptRecord { outcome, ended_at, host, error, .. } = attempt;
        let error = error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
        row(
            &format!("attempt {}", attempt.attempt),
            Some(format!("{outcome} at {} on {host}{error}", time(*ended_at))),
        );
        row("its log", attempt.log_tail.clone());
    }
    output::line(table)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn cancel(config: &Config, args: CancelArgs) -> anyhow::Result<ExitCode> {
    let id = args.id;
    let answer = super::store(config, false).await?.cancel(ItemId(id)).await?;
    match answer {
        _ if args.json => output::line(serde_json::json!({ "id": id, "answer": answer }))?,
        CancelAnswer::Cancelled => output::line(format_args!("work item {id} is cancelled"))?,
        CancelAnswer::Requested => {
            output::line(format_args!("work item {id} is running; its handler was asked to stop"))?
        }
        CancelAnswer::Finished => {
            output::line(format_args!("work item {id} had finished already; see `workhost show {id}`"))?
        }
        CancelAnswer::Unknown => output::line(format_args!("no work item {id}"))?,
    }
    let done = matches!(answer, CancelAnswer::Cancelled | CancelAnswer::Requested);
    Ok(if done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The one thing to know about an item.
fn what(config: &Config, item: &WorkItem) -> String {
    let json = |json: &Option<workhost_queue::Json>| json.as_ref().map(|json| json.as_str().to_owned());
    let text = match item.status {
        Status::Queued if !config.kinds.contains_key(&item.kind) => {
            Some("its kind is not in this configuration's catalogue".to_owned())
        }
        Status::Queued if item.run_at > item.updated_at => Some(format!("due at {}", time(item.run_at))),
        Status::Queued => None,
        Status::Running => json(&item.progress),
        Status::Succeeded => json(&item.result),
        Status::Failed => item.error.clone().or(item.reason.clone()),
        Status::Cancelled => item.reason.clone().or(json(&item.result)).or(json(&item.progress)),
    };
    harmless(&text.unwrap_or_default())
}

/// As much as a row of a table has room for; `show` has the whole.
fn shortened(text: String) -> String {
    const ROOM: usize = 100;
    let mut lines = text.lines();
    let line: String = lines.next().unwrap_or_default().chars().take(ROOM).collect();
    if line.len() < text.len() { format!("{line} …") } else { line }
}

/// A handler's text may hold control codes; a terminal may not get them.
pub(super) fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

fn time(time: time::OffsetDateTime) -> String {
    let format = time::macros::format_description!("[year]-[month]-[day] [hour]:[minute]:[second]Z");
    time.format(&format).unwrap_or_else(|_| time.to_string())
}
