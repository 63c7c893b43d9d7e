//! The lock: what the registry was when it was last reviewed, in a file beside the configuration.
//!
//! `workhost lock` writes it, `workhost validate --locked` tells how the registry differs from it, both in the words of
//! a reviewer: [`differences`]. What is granted stands in the configuration and not here.

mod compare;
mod difference;
mod file;
mod imports;
mod queued;
mod schema;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::config::Config;
use crate::registry::Described;

pub use compare::differences;
pub use difference::{Change, Difference};
pub use file::{LockFile, NoLock, write};
pub use queued::count_lost_fields;
pub use schema::{FieldPath, SchemaChange};

/// What the components of a registry are, by their path as the configuration has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    /// The components.
    pub handlers: BTreeMap<String, LockedHandler>,
}

/// What one component is.
#[derive(Clone, Debug, PartialEq)]
pub struct LockedHandler {
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// The version of the contract that it was built against.
    pub contract: String,
    /// What it imports, with versions.
    pub imports: BTreeSet<String>,
    /// The kinds that it runs, each with the JSON Schema of its payloads.
    pub kinds: BTreeMap<String, Value>,
}

impl Lock {
    /// The lock of a registry with these components.
    pub fn of(config: &Config, handlers: &[Described]) -> Lock {
        let locked = |described: &Described| {
            let component = config.handlers.get(described.index)?.component.display().to_string();
            let examined = &described.examined;
            let handler = LockedHandler {
                digest: examined.digest.clone(),
                contract: examined.contract.clone(),
                imports: examined.imports.iter().map(|import| import.name.clone()).collect(),
                kinds: examined.kinds.iter().map(|kind| (kind.kind.clone(), kind.payload_schema.clone())).collect(),
            };
            Some((component, handler))
        };
        Lock { handlers: handlers.iter().filter_map(locked).collect() }
    }
}

/// Where the lock of this configuration lies: `workhost.lock` beside `workhost.toml`.
pub fn path(config: &Path) -> PathBuf {
    let path = config.with_extension("lock");
    // It must not be the configuration itself.
    if path == config { config.with_added_extension("lock") } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_lies_beside_the_configuration_and_is_another_file() {
        for (config, lock) in [
            ("workhost.toml", "workhost.lock"),
            ("deploy/x.toml", "deploy/x.lock"),
            ("x", "x.lock"),
            ("x.lock", "x.lock.lock"),
        ] {
            assert_eq!(path(Path::new(config)), Path::new(lock));
        }
    }
}
