//! The configuration file: what it holds, and how it is read.

mod cache;
mod handlers;
mod http;
mod load;
mod place;
pub(crate) mod schedule;
pub(crate) mod text;
mod values;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use workhost_queue::{ConnectOptions, Pooler, Schedule};

pub use cache::Cache;
pub use handlers::{
    DirMode, DirSettings, HandlerSettings, HttpSettings, QueueSettings, RetentionSettings, SecretSettings, SqlSettings,
};
pub use load::load;
pub use place::{Source, key};
pub use values::{Bytes, Url};

/// All settings of a workhost, as one TOML file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where the work items live.
    #[serde(default)]
    pub store: Store,
    /// How this host works.
    #[serde(default)]
    pub worker: Worker,
    /// What is kept of a work item.
    #[serde(default)]
    pub limits: Limits,
    /// How components are run.
    #[serde(default)]
    pub runtime: Runtime,
    /// The HTTP side.
    #[serde(default)]
    pub admin: Admin,
    /// The application's databases, by the name that grants use.
    #[serde(default)]
    pub databases: BTreeMap<String, DatabaseSettings>,
    /// The catalogue: every kind, exactly once.
    #[serde(default)]
    pub kinds: BTreeMap<String, KindSettings>,
    /// The components, each with its grants.
    #[serde(default)]
    pub handlers: Vec<HandlerSettings>,
    /// The file this came from; findings name it.
    #[serde(skip)]
    pub source: Source,
}

/// `[store]`
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Store {
    /// `sqlite://FILE` or `postgres://…`. A relative file is relative to the configuration file.
    pub url: Url,
    /// What stands between this host and PostgreSQL.
    pub pooler: Pooler,
}

impl Default for Store {
    fn default() -> Self {
        Store { url: Url("sqlite://workhost.db".into()), pooler: Pooler::None }
    }
}

impl Store {
    /// How the queue opens this store.
    pub fn options(&self, limits: &Limits) -> ConnectOptions {
        ConnectOptions { pooler: self.pooler, limits: limits.queue(), ..ConnectOptions::default() }
    }
}

/// `[worker]`
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Worker {
    /// This host's name, shown to people. Default: the machine's name.
    pub host: Option<String>,
    /// How long to wait for work when nobody wakes the host.
    #[serde(with = "values::duration")]
    pub poll_interval: Duration,
    /// How often each running attempt is reported alive.
    #[serde(with = "values::duration")]
    pub heartbeat_interval: Duration,
    /// How long a claim lasts without a heartbeat.
    #[serde(with = "values::duration")]
    pub lease: Duration,
    /// How many attempts may stall before the item fails.
    pub max_stalls: u32,
    /// How many items run at a time, over all kinds. Default: twice the number of cores.
    pub slots: u32,
    /// How long a handler may go on after a cancel request.
    #[serde(with = "values::duration")]
    pub cancel_grace: Duration,
    /// How long handlers may go on after a shutdown began.
    #[serde(with = "values::duration")]
    pub shutdown_grace: Duration,
    /// The scopes that this host serves. Default: all. Items without a scope go to any host.
    pub scopes: Option<Vec<String>>,
}

impl Default for Worker {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        Worker {
            host: None,
            poll_interval: Duration::from_secs(5),
            heartbeat_interval: Duration::from_secs(2),
            lease: Duration::from_secs(60),
            max_stalls: 3,
            slots: 2 * cores,
            cancel_grace: Duration::from_secs(10),
            shutdown_grace: Duration::from_secs(10),
            scopes: None,
        }
    }
}

/// Bytes that a guest's text leaves for a word on what was cut off.
const NOTE_BYTES: usize = 1 << 10;

/// `[limits]`: what is kept of a work item. Defaults and reasons: [`workhost_queue::Limits`].
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Bytes of a payload; more is refused. On PostgreSQL this can only be lower than what `workhost.enqueue_limits` says.
    pub payload: Option<Bytes>,
    /// Bytes of a result; more fails the attempt.
    pub result: Option<Bytes>,
    /// Bytes of a progress snapshot; more fails the attempt.
    pub progress: Option<Bytes>,
    /// Bytes of an error's text; more is cut off.
    pub error: Option<Bytes>,
    /// Bytes of the end of an attempt's log; what is before is left out.
    pub log_tail: Option<Bytes>,
}

impl Limits {
    /// What the queue takes.
    pub fn queue(&self) -> workhost_queue::Limits {
        let defaults = workhost_queue::Limits::default();
        let bytes = |set: Option<Bytes>, default| set.map_or(default, |bytes| bytes.0);
        workhost_queue::Limits {
            payload_bytes: self.payload.map(|bytes| bytes.0),
            result_bytes: bytes(self.result, defaults.result_bytes),
            progress_bytes: bytes(self.progress, defaults.progress_bytes),
            error_bytes: bytes(self.error, defaults.error_bytes),
            log_tail_bytes: bytes(self.log_tail, defaults.log_tail_bytes),
            ..defaults
        }
    }

    /// What a guest may hand over: no more than the queue takes, so that nothing is dropped afterwards.
    pub fn runtime(&self) -> workhost_runtime::Limits {
        let queue = self.queue();
        workhost_runtime::Limits {
            result_bytes: queue.result_bytes,
            progress_bytes: queue.progress_bytes,
            error_bytes: queue.error_bytes.saturating_sub(NOTE_BYTES),
            log_tail_bytes: queue.log_tail_bytes.saturating_sub(NOTE_BYTES),
            ..workhost_runtime::Limits::default()
        }
    }
}

/// `[runtime]`
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Runtime {
    /// Where compiled components are kept.
    pub cache: Cache,
}

/// `[admin]`
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Admin {
    /// The address to listen on. Port 0 takes a free one; the log says which.
    pub listen: SocketAddr,
    /// The socket by which the command line reaches the daemon. Default: beside the configuration file, ending `.sock`.
    pub socket: Option<PathBuf>,
}

impl Default for Admin {
    fn default() -> Self {
        Admin { listen: SocketAddr::from(([127, 0, 0, 1], 8620)), socket: None }
    }
}

/// `[databases.NAME]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseSettings {
    /// `sqlite://FILE` or `postgres://…`. Handlers never see it.
    pub url: Url,
}

/// `[kinds.NAME]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindSettings {
    /// Makes the kind periodic: it runs again this long after it finished.
    #[serde(default, with = "values::optional_duration")]
    pub every: Option<Duration>,
    /// Makes the kind periodic: the five fields of a cron expression, such as `30 3 * * *`.
    pub cron: Option<String>,
    /// The time zone whose clock `cron` is about, by its IANA name. Default: UTC.
    pub time_zone: Option<String>,
    /// What `every`, or `cron` and `time_zone`, mean.
    #[serde(skip)]
    pub schedule: Option<Schedule>,
    /// How long one attempt may take.
    #[serde(default = "default_timeout", with = "values::duration")]
    pub timeout: Duration,
    /// The payload of a periodic kind's items. Default: an empty object.
    #[serde(default = "empty_object")]
    pub payload: serde_json::Value,
    /// Whether its items have a scope.
    #[serde(default)]
    pub scope: ScopeRule,
    /// The scopes of a periodic kind that requires one; each is a schedule of its own.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// How many items of this kind one host runs at a time. Default: as many as the host has slots.
    pub slots: Option<u32>,
    /// How often a failed item is tried again. Default: never.
    #[serde(default)]
    pub retries: u32,
    /// How long to wait before the first retry. The wait doubles with each further failure, less a random part.
    #[serde(default = "default_retry_delay", with = "values::duration")]
    pub retry_delay: Duration,
    /// The longest wait before a retry.
    #[serde(default = "default_retry_delay_max", with = "values::duration")]
    pub retry_delay_max: Duration,
}

/// Whether items of a kind have a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScopeRule {
    /// They may.
    #[default]
    Optional,
    /// They must: an item without one is refused.
    Required,
}

impl Config {
    /// Where the command line reaches a daemon that was started with this configuration.
    pub fn control_socket(&self) -> PathBuf {
        match &self.admin.socket {
            Some(path) => self.source.resolve(path),
            None => self.source.file.with_extension("sock"),
        }
    }
}

/// Who a claim belongs to: the host, and which of its starts.
pub(crate) fn owner(host: &str, boot: u32) -> String {
    format!("{host}/{boot:08x}")
}

fn default_timeout() -> Duration {
    Duration::from_secs(3600)
}

fn default_retry_delay() -> Duration {
    Duration::from_secs(10)
}

fn default_retry_delay_max() -> Duration {
    Duration::from_secs(3600)
}

fn empty_object() -> serde_json::Value {
    serde_json::Value::Object(serde_json::Map::new())
}

#[cfg(test)]
mod tests;
