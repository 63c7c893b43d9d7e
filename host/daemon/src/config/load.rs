//! Reading the file: each error names file, line, key and what was expected.

use std::path::Path;
use std::time::Duration;

use super::{Config, Source, http, owner, schedule, text};
use crate::finding::{Finding, Findings, Severity};

/// The largest configuration file that is read, in bytes: far beyond any real one, so that a wrong
/// path (a disk image, a device) is refused at once.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The most bytes of a document that a configuration may allow; more does not pass between guest and host.
const MAX_DOCUMENT: usize = 16 << 20;

/// The least memory that an attempt may be granted: one page of WebAssembly.
const LEAST_MEMORY: usize = 64 << 10;

/// The most bytes of a text for people.
const MAX_TEXT: usize = 1 << 20;

/// The most items that one host runs at a time. Each needs address space for its sandbox, set aside at the start.
const MAX_SLOTS: u32 = 1000;

/// Reads a configuration and checks what can be checked without components or databases.
///
/// # Errors
/// All findings, at once where the file can be read as TOML with the right keys.
pub fn load(file: &Path) -> Result<Config, Findings> {
    let mend = "name the configuration file with --config FILE; examples/ has some to start from";
    let source = text::read(file, MAX_BYTES).map_err(|problem| {
        let finding = Source::new(file, String::new()).finding("config-unreadable", &[], problem, Some(mend.into()));
        Findings(vec![finding.with(Severity::Unchecked)])
    })?;
    let mut config: Config = text::parse(&source, "config-malformed").map_err(|finding| Findings(vec![*finding]))?;
    config.source = source;
    let mut findings = check(&config);
    findings.extend(http::check(&config));
    findings.extend(schedule::read(&mut config));
    if findings.is_empty() { Ok(config) } else { Err(Findings(findings)) }
}

fn check(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |keys: &[&str], problem: String, mend: &str| {
        findings.push(config.source.finding("setting-out-of-bounds", keys, problem, Some(mend.to_owned())));
    };
    if !["sqlite://", "postgres://", "postgresql://"].iter().any(|scheme| config.store.url.0.starts_with(scheme)) {
        find(
            &["store", "url"],
            format!("`{}` is no store", config.store.url),
            "use sqlite:// and the path of a file, or postgres://user@host/database",
        );
    }
    let limits = &config.limits;
    for (name, set, least, most) in [
        ("payload", limits.payload, 2, MAX_DOCUMENT),
        ("result", limits.result, 2, MAX_DOCUMENT),
        ("progress", limits.progress, 2, MAX_DOCUMENT),
        ("error", limits.error, 2 << 10, MAX_TEXT),
        ("log_tail", limits.log_tail, 2 << 10, MAX_TEXT),
    ] {
        if let Some(bytes) = set.filter(|bytes| !(least..=most).contains(&bytes.0)) {
            find(
                &["limits", name],
                format!("{} bytes are not between {least} and {most}", bytes.0),
                "every claim, page and backup carries these texts; what is larger belongs in a store made for it",
            );
        }
    }
    let worker = &config.worker;
    if let Some(host) = &worker.host
        && let Err(error) = limits.queue().check_host(&owner(host, u32::MAX), std::iter::empty::<&str>())
    {
        find(&["worker", "host"], error.to_string(), "use a shorter name, such as the machine's");
    }
    if worker.lease / 2 <= worker.heartbeat_interval * 2 {
        find(
            &["worker", "lease"],
            format!(
                "half the lease ({:?}) is not longer than two heartbeats ({:?}), and two answered heartbeats can lie \
                 two intervals apart: a healthy host would stop its own attempts",
                worker.lease / 2,
                worker.heartbeat_interval * 2
            ),
            "make the lease longer than four heartbeat intervals",
        );
    }
    for (name, value) in [
        ("poll_interval", worker.poll_interval),
        ("heartbeat_interval", worker.heartbeat_interval),
        ("lease", worker.lease),
    ] {
        if value < Duration::from_millis(10) {
            find(&["worker", name], format!("{value:?} is shorter than 10ms"), "use at least 10ms");
        }
    }
    for (name, value) in [("slots", worker.slots), ("max_stalls", worker.max_stalls)] {
        if value == 0 {
            find(&["worker", name], "is 0, so no item would ever run".into(), "use at least 1");
        }
    }
    if worker.slots > MAX_SLOTS {
        find(
            &["worker", "slots"],
            format!("{} items at a time are more than the {MAX_SLOTS} that one host runs", worker.slots),
            "use fewer, and more hosts",
        );
    }
    for (name, kind) in &config.kinds {
        if kind.timeout < Duration::from_millis(10) {
            find(
                &["kinds", name, "timeout"],
                format!("{:?} is shorter than 10ms, so every attempt would fail", kind.timeout),
                "use at least 1s",
            );
        }
        if kind.slots == Some(0) {
            find(
                &["kinds", name, "slots"],
                "is 0, so no item would ever run".into(),
                "use at least 1, or leave it out",
            );
        }
    }
    for (index, handler) in config.handlers.iter().enumerate() {
        let index = index.to_string();
        if handler.memory.is_some_and(|memory| memory.0 < LEAST_MEMORY) {
            find(
                &["handlers", &index, "memory"],
                format!("less than {LEAST_MEMORY} bytes are too few for any component to start"),
                "use at least 1MiB",
            );
        }
        if handler.queue.as_ref().is_some_and(|grant| grant.kinds.is_empty()) {
            find(
                &["handlers", &index, "queue", "kinds"],
                "names no kind, so nothing could be enqueued".into(),
                "name the kinds that the handler may enqueue, or take the grant away",
            );
        }
        for (name, grant) in &handler.sql {
            let defaults = workhost_runtime::Limits::default();
            if grant.rows.is_some_and(|rows| rows == 0 || rows > defaults.sql_rows) {
                find(
                    &["handlers", &index, "sql", name, "rows"],
                    format!("is not between 1 and {}: rows are copied into the sandbox", defaults.sql_rows),
                    "let the handler ask in pages",
                );
            }
            if grant.time.is_some_and(|time| time.is_zero() || time > defaults.sql_time) {
                find(
                    &["handlers", &index, "sql", name, "time"],
                    format!(
                        "is not between 1ms and {:?}: a longer statement blocks the application",
                        defaults.sql_time
                    ),
                    "let the handler work in bounded batches",
                );
            }
            if !config.databases.contains_key(&grant.database) {
                let known: Vec<_> = config.databases.keys().map(String::as_str).collect();
                find(
                    &["handlers", &index, "sql", name, "database"],
                    format!("no database `{}` is configured (known: {})", grant.database, known.join(", ")),
                    &format!("add [databases.{}] with its url, or name a known one", grant.database),
                );
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests;
