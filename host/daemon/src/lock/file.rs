//! The lock as a file: TOML, one line for each thing that can change by itself, so that a diff is short.

mod save;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;
use workhost_runtime::Digest;

use super::{Lock, LockedHandler};
use crate::config::{Source, text as toml_text};
use crate::finding::{Finding, Severity};

pub use save::write;

/// The version of the file's format.
const VERSION: u32 = 1;
/// The largest lock that is read or written, in bytes; 16 MiB. A handler's schemas have a few KiB.
const MAX_BYTES: u64 = 16 << 20;
/// What to do about a lock that is of no use.
const MEND: &str = "run `workhost lock` and commit the file";

/// A lock that was read from a file.
pub struct LockFile {
    /// The file, so that a finding can name a line of it.
    pub source: Source,
    /// What it holds.
    pub lock: Lock,
}

/// Why there is no lock to compare with.
#[derive(Debug)]
pub enum NoLock {
    /// There is no such file.
    Missing(Box<Finding>),
    /// There is one, and it is of no use.
    Unusable(Box<Finding>),
}

impl NoLock {
    /// What is wrong.
    pub fn finding(self) -> Finding {
        match self {
            NoLock::Missing(finding) | NoLock::Unusable(finding) => *finding,
        }
    }
}

impl LockFile {
    /// Reads a lock.
    ///
    /// # Errors
    /// A finding about the file, if it is not there, cannot be read, or is no lock of this version.
    pub fn read(path: &Path) -> Result<LockFile, NoLock> {
        let nothing = Source::new(path, String::new());
        let finding = |code, problem: String| nothing.finding(code, &[], problem, Some(MEND.to_owned()));
        if matches!(path.try_exists(), Ok(false)) {
            return Err(NoLock::Missing(Box::new(finding("lock-missing", "there is no such file".into()))));
        }
        let source = toml_text::read(path, MAX_BYTES).map_err(|problem| {
            NoLock::Unusable(Box::new(finding("lock-unreadable", problem).with(Severity::Unchecked)))
        })?;
        let lock = parse(&source).map_err(|finding| {
            NoLock::Unusable(Box::new(Finding { mend: finding.mend.or_else(|| Some(MEND.to_owned())), ..*finding }))
        })?;
        Ok(LockFile { source, lock })
    }
}

fn parse(source: &Source) -> Result<Lock, Box<Finding>> {
    // First the version alone: another one has other keys.
    let Head { version } = toml_text::parse(source, "lock-malformed")?;
    if version != VERSION {
        let problem = format!("is a lock of version {version}; this workhost knows version {VERSION}");
        let mend = format!("use the workhost that wrote it, or {MEND}");
        return Err(Box::new(source.finding("lock-version", &["version"], problem, Some(mend))));
    }
    let document: Document = toml_text::parse(source, "lock-malformed")?;
    let handler = |(component, entry): (String, Entry)| {
        let kinds =
            entry.kinds.into_iter().map(|(kind, KindEntry { payload: Schema(schema) })| (kind, schema)).collect();
        let Entry { digest: DigestText(digest), contract, imports, .. } = entry;
        (component, LockedHandler { digest, contract, imports, kinds })
    };
    Ok(Lock { handlers: document.handlers.into_iter().map(handler).collect() })
}

#[derive(Deserialize)]
struct Head {
    version: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "version")]
    _version: u32,
    #[serde(default)]
    handlers: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    digest: DigestText,
    contract: String,
    imports: BTreeSet<String>,
    kinds: BTreeMap<String, KindEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KindEntry {
    payload: Schema,
}

struct DigestText(String);

impl<'de> Deserialize<'de> for DigestText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digest =
            text.parse::<Digest>().map_err(|error| D::Error::custom(format!("`{text}` is no digest: {error}")))?;
        Ok(DigestText(digest.to_string()))
    }
}

/// A JSON Schema as text.
struct Schema(Value);

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match serde_json::from_str(&text) {
            Ok(schema @ (Value::Object(_) | Value::Bool(_))) => Ok(Schema(schema)),
            Ok(_) => Err(D::Error::custom("expected a JSON Schema: an object, true or false")),
            Err(error) => Err(D::Error::custom(format!("expected a JSON Schema, and it is not JSON: {error}"))),
        }
    }
}

#[cfg(test)]
mod tests;
