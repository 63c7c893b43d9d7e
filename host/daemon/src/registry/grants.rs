//! From the configuration's grants to the runtime's.

use std::collections::BTreeMap;
use std::sync::Arc;

use workhost_runtime::{Database, DirGrant, Grants, Outline, Retention, RetentionGrant, SqlGrant, StatementText};

use crate::config::{Config, DirMode, DirSettings, HandlerSettings, SqlSettings};
use crate::finding::{Finding, Severity};

/// Opens the application databases that some grant names; those that cannot be reached are findings.
pub(super) async fn connect_databases(config: &Config) -> (BTreeMap<String, Database>, Vec<Finding>) {
    let mut databases = BTreeMap::new();
    let mut findings = Vec::new();
    for (name, settings) in &config.databases {
        match Database::connect(name, &config.source.resolve_url(&settings.url)).await {
            Ok(database) => {
                databases.insert(name.clone(), database);
            }
            Err(error) => findings.push(
                config
                    .source
                    .finding(
                        "database-unreachable",
                        &["databases", name, "url"],
                        error.to_string(),
                        Some("check that the database is running and that the URL names it".into()),
                    )
                    .with(Severity::Unchecked),
            ),
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
    let statement = |(name, grant): (&String, &SqlSettings)| {
        let database = databases.get(&grant.database)?.clone();
        Some((name.clone(), SqlGrant { database, statement: grant.statement.clone() }))
    };
    Grants {
        sql: settings.sql.iter().filter_map(statement).collect(),
        retention: settings
            .retention
            .as_ref()
            .map(|grant| RetentionGrant { min_days: grant.min_days, backend: retention.clone() }),
        dirs: dirs(settings, config),
        memory_bytes: settings.memory.map(|bytes| bytes.0),
    }
}

/// What one `[[handlers]]` entry grants, without any database.
pub(super) fn outline(settings: &HandlerSettings, config: &Config) -> Outline {
    let statement = |(name, grant): (&String, &SqlSettings)| {
        (name.clone(), StatementText { database: grant.database.clone(), text: grant.statement.clone() })
    };
    Outline {
        statements: settings.sql.iter().map(statement).collect(),
        retention: settings.retention.is_some(),
        dirs: dirs(settings, config),
        memory_bytes: settings.memory.map(|bytes| bytes.0),
    }
}

fn dirs(settings: &HandlerSettings, config: &Config) -> Vec<DirGrant> {
    let dir = |grant: &DirSettings| DirGrant {
        guest_path: grant.guest.clone(),
        host_path: config.source.resolve(&grant.path).display().to_string(),
        writable: grant.mode == DirMode::ReadWrite,
    };
    settings.dirs.iter().map(dir).collect()
}
