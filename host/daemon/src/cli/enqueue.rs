//! `workhost enqueue`.

use std::io::Read as _;
use std::time::Duration;

use anyhow::{Context as _, bail};
use workhost_queue::{Enqueued, Json, NewItem};
use workhost_runtime::{Limits, Runtime};

use super::output;
use crate::config::{Config, ScopeRule};
use crate::finding::{Findings, Severity};
use crate::registry::{Examination, Registry};

/// How long the check of a payload may take.
const CHECK_TIME: Duration = Duration::from_secs(10);

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  workhost enqueue token-cleanup\n  workhost enqueue crawl --scope photos\n  \
    workhost enqueue report --payload '{\"month\": \"2026-01\"}' --dedup-key 2026-01\n  \
    workhost enqueue report --payload - < payload.json")]
pub(super) struct Args {
    /// The work kind
    kind: String,
    /// The payload as JSON; `-` reads it from standard input
    #[arg(long, value_name = "JSON", default_value = "{}")]
    payload: String,
    /// The serial key: items of one scope run one at a time
    #[arg(long)]
    scope: Option<String>,
    /// Coalesces with the queued item of this kind that has the same key
    #[arg(long, value_name = "KEY")]
    dedup_key: Option<String>,
    /// Not before this long from now, as in `10m`
    #[arg(long, value_parser = humantime::parse_duration, default_value = "0s")]
    delay: Duration,
    /// Higher runs first
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(config: &Config, args: Args) -> anyhow::Result<()> {
    let text = match args.payload.as_str() {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("--payload -: standard input is no text")?;
            text
        }
        text => text.to_owned(),
    };
    let payload = Json::parse(text).context("--payload")?;
    check(config, &args, &payload).await?;
    let item = NewItem {
        payload,
        dedup_key: args.dedup_key,
        scope: args.scope,
        delay: args.delay,
        priority: args.priority,
        ..NewItem::new(args.kind, Json::from(serde_json::Value::Null))
    };
    let queue = super::store(config, true).await?;
    let enqueued = queue.enqueue(&[item]).await?;
    let enqueued = enqueued.first().context("the store answered nothing")?;
    match enqueued {
        _ if args.json => output::line(serde_json::to_string(enqueued)?)?,
        Enqueued::Created(id) => output::line(format_args!("created work item {id}"))?,
        Enqueued::Existing(id) => output::line(format_args!("work item {id} is queued already with this dedup key"))?,
    }
    Ok(())
}

/// Refuses what no handler could run, before it is in the queue.
async fn check(config: &Config, args: &Args, payload: &Json) -> anyhow::Result<()> {
    let Some(kind) = config.kinds.get(&args.kind) else {
        let known: Vec<_> = config.kinds.keys().map(String::as_str).collect();
        bail!("no kind `{}` is declared in {} (known: {})", args.kind, config.source.file.display(), known.join(", "));
    };
    if kind.scope == ScopeRule::Required && args.scope.is_none() {
        bail!("kind `{}` requires a scope: add --scope SCOPE", args.kind);
    }
    let runtime = Runtime::with_cache(Limits::default(), config.compile_cache())?;
    let Examination { mut schemas, findings, .. } = Registry::examine(config, &runtime, &|| ()).await;
    let Some(schema) = schemas.remove(&args.kind) else {
        // It may be the kind of a component that could not be loaded.
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(Findings(findings).into());
        }
        bail!("no component in {} runs kind `{}`: see `workhost validate`", config.source.file.display(), args.kind);
    };
    let value = payload.to_value();
    // A schema is the handler's, and can make a check last.
    let check = tokio::task::spawn_blocking(move || schema.check(&value));
    match tokio::time::timeout(CHECK_TIME, check).await {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(violations))) => {
            bail!("the payload does not match the schema of kind `{}`: {violations}", args.kind)
        }
        Ok(Err(error)) => bail!("the payload could not be checked: {error}"),
        Err(_) => bail!("the schema of kind `{}` takes longer than {CHECK_TIME:?} to check", args.kind),
    }
}
