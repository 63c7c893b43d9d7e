//! `workhost kinds`.

use std::collections::BTreeMap;

use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;
use time::{Duration, OffsetDateTime};
use workhost_queue::Status;

use super::{output, show};
use crate::config::Config;

/// A host that was not seen for longer runs nothing, or cannot reach the store.
const SEEN_WITHIN: Duration = Duration::minutes(1);

#[derive(clap::Args)]
#[command(after_help = "Example:\n  workhost kinds\n\nA kind without a host has nobody who runs it: its items wait.")]
pub(super) struct Args {
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// One kind, of this configuration's catalogue or of another host's.
#[derive(Default, Serialize)]
struct Kind {
    kind: String,
    /// Whether this configuration's catalogue has it.
    declared: bool,
    queued: u64,
    running: u64,
    succeeded: u64,
    failed: u64,
    cancelled: u64,
    /// The hosts that run it, as they said within the last minute.
    hosts: Vec<String>,
}

pub(super) async fn run(config: &Config, args: Args) -> anyhow::Result<()> {
    let store = super::store(config, false).await?;
    let mut kinds: BTreeMap<String, Kind> = BTreeMap::new();
    for name in config.kinds.keys() {
        kinds.entry(name.clone()).or_default().declared = true;
    }
    for count in store.counts().await? {
        let kind = kinds.entry(count.kind).or_default();
        *match count.status {
            Status::Queued => &mut kind.queued,
            Status::Running => &mut kind.running,
            Status::Succeeded => &mut kind.succeeded,
            Status::Failed => &mut kind.failed,
            Status::Cancelled => &mut kind.cancelled,
        } = count.count;
    }
    let now = OffsetDateTime::now_utc();
    for seen in store.hosts().await?.into_iter().filter(|seen| now - seen.last_seen_at < SEEN_WITHIN) {
        for kind in seen.kinds {
            kinds.entry(kind).or_default().hosts.push(seen.host.clone());
        }
    }
    let kinds: Vec<Kind> = kinds.into_iter().map(|(name, kind)| Kind { kind: name, ..kind }).collect();
    if args.json {
        output::line(serde_json::to_string(&kinds)?)?;
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["kind", "declared here", "queued", "running", "succeeded", "failed", "cancelled", "hosts"]);
    for kind in &kinds {
        let numbers = [kind.queued, kind.running, kind.succeeded, kind.failed, kind.cancelled];
        let declared = if kind.declared { "yes" } else { "no" };
        let mut row = vec![show::harmless(&kind.kind), declared.to_owned()];
        row.extend(numbers.iter().map(ToString::to_string));
        row.push(if kind.hosts.is_empty() { "nobody".to_owned() } else { show::harmless(&kind.hosts.join(", ")) });
        table.add_row(row);
    }
    output::line(table)?;
    Ok(())
}
