//! `[[handlers]]`: the components and what each is granted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use workhost_runtime::Digest;

use super::{Bytes, values};

/// `[[handlers]]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandlerSettings {
    /// The component's file. A relative one is relative to the configuration file.
    pub component: PathBuf,
    /// The digest that the component must have. Nothing of another build is compiled or run.
    #[serde(default, with = "values::optional_digest")]
    pub digest: Option<Digest>,
    /// The memory that one attempt may use.
    pub memory: Option<Bytes>,
    /// Grants of named statements.
    #[serde(default)]
    pub sql: BTreeMap<String, SqlSettings>,
    /// The grant to enqueue items.
    pub queue: Option<QueueSettings>,
    /// The grant to delete finished items.
    pub retention: Option<RetentionSettings>,
    /// Grants of folders.
    #[serde(default)]
    pub dirs: Vec<DirSettings>,
    /// The grant to send requests.
    pub http: Option<HttpSettings>,
    /// Its settings: JSON values by key.
    #[serde(default)]
    pub config: BTreeMap<String, serde_json::Value>,
    /// Where each of its secrets comes from.
    #[serde(default)]
    pub secrets: BTreeMap<String, SecretSettings>,
}

/// `[handlers.sql.NAME]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SqlSettings {
    /// A name of `[databases]`.
    pub database: String,
    /// Exactly one statement; its parameters are `$1`, `$2`, … `{id}`, `{attempt}` and `{scope}` are those of the item.
    pub statement: String,
    /// Rows that a query may answer. Default, and the most: 10,000.
    pub rows: Option<usize>,
    /// How long it may take. Default, and the most: 30s.
    #[serde(default, with = "values::optional_duration")]
    pub time: Option<Duration>,
}

/// `[handlers.queue]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSettings {
    /// The kinds that it may enqueue.
    pub kinds: BTreeSet<String>,
}

/// An entry of `[handlers.secrets]`
///
/// Whoever writes the secret itself here must not read it in an error: so what is found instead is not told.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected `{ env = \"VARIABLE\" }` or `{ file = \"PATH\" }`, not the secret itself")]
pub enum SecretSettings {
    /// From the environment.
    Env(SecretVariable),
    /// From a file.
    File(SecretFile),
}

/// `{ env = "VARIABLE" }`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretVariable {
    /// The environment variable that holds it.
    pub env: String,
}

/// `{ file = "PATH" }`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretFile {
    /// The file that holds it. A relative one is relative to the configuration file.
    pub file: PathBuf,
}

/// `[handlers.retention]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetentionSettings {
    /// Items that finished less than this many days ago stay, whatever the handler asks.
    pub min_days: u32,
}

/// `[[handlers.dirs]]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirSettings {
    /// The folder's name inside the sandbox.
    pub guest: String,
    /// The folder on the host. A segment `{scope}` stands for the item's scope.
    pub path: String,
    /// What the handler may do there.
    #[serde(default)]
    pub mode: DirMode,
}

/// `[handlers.http]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpSettings {
    /// The origins that requests may go to: `https://api.example.com`, `https://*.example.org:8443`.
    pub allow: Vec<String>,
    /// Networks that names may lead to although they are not public: `10.0.0.0/8`.
    #[serde(default)]
    pub private: Vec<String>,
    /// A file with certificates in PEM that are trusted beside the roots of the web. A relative one is relative to the
    /// configuration file.
    pub ca: Option<PathBuf>,
}

/// What a handler may do in a granted folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DirMode {
    /// Look and read.
    #[default]
    ReadOnly,
    /// Also change and delete.
    ReadWrite,
}
