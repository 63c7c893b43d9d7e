//! From the configuration's grants to the runtime's.

use std::collections::BTreeMap;
use std::sync::Arc;

use workhost_runtime::{Database, DirGrant, Grants, Retention, RetentionGrant, SqlGrant};

use crate::config::{Config, DirMode, HandlerSettings};
use crate::finding::Finding;

/// Opens the application databases that some grant names; those that cannot be reached are findings.
pub(super) async fn connect_databases(config: &Config) -> (BTreeMap<String, Database>, Vec<Finding>) {
    let mut databases = BTreeMap::new();
    let mut findings = Vec::new();
    for (name, settings) in &config.databases {
        match Database::connect(name, &config.source.resolve_url(&settings.url)).await {
            Ok(database) => {
                databases.insert(name.clone(), database);
            }
            Err(error) => findings.push(config.source.finding(
                "database-unreachable",
                &["databases", name, "url"],
                error.to_string(),
                Some("check that the database is running and that the URL names it".into()),
            )),
        }
    }
    (databases, findings)
}

/// What one `[[handlers]]` entry grants. A statement on a database that could not be opened is left out:
/// the database is a finding already.
pub(super) fn grants(
    settings: &HandlerSettings,
    config: &Config,
    databases: &BTreeMap<String, Database>,
    retention: &Arc<dyn Retention>,
) -> Grants {
    let statement = |(name, grant): (&String, &crate::config::SqlSettings)| {
        let database = databases.get(&grant.database)?.clone();
        Some((name.clone(), SqlGrant { database, statement: grant.statement.clone() }))
    };
    let dir = |grant: &crate::config::DirSettings| DirGrant {
        guest_path: grant.guest.clone(),
        host_path: config.source.resolve(&grant.path).display().to_string(),
        writable: grant.mode == DirMode::ReadWrite,
    };
    Grants {
        sql: settings.sql.iter().filter_map(statement).collect(),
        retention: settings
            .retention
            .as_ref()
            .map(|grant| RetentionGrant { min_days: grant.min_days, backend: retention.clone() }),
        dirs: settings.dirs.iter().map(dir).collect(),
        memory_bytes: settings.memory.map(|bytes| bytes.0),
    }
}
