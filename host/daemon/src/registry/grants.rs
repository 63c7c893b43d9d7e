//! From the configuration's grants to the runtime's.

use std::collections::BTreeMap;

use workhost_runtime::{
    Database, DirGrant, Grants, HttpGrant, QueueGrant, RetentionGrant, SecretSource, SqlGrant, Writable,
};

use crate::config::{Config, DirMode, DirSettings, HandlerSettings, HttpSettings, SecretSettings, SqlSettings};
use crate::finding::{Finding, Severity};

/// Opens the application databases that some grant names; those that cannot be reached are findings.
pub(super) async fn connect_databases(config: &Config) -> (BTreeMap<String, Database>, Vec<Finding>) {
    let mut databases = BTreeMap::new();
    let mut findings = Vec::new();
    for (name, settings) in &config.databases {
        match Database::connect(name, &config.source.resolve_url(&settings.url)).await {
            Ok(database) => {
                findings.extend(can_write_queue(config, &database).await);
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

/// A connection by which statements could go around the queue's fences.
async fn can_write_queue(config: &Config, database: &Database) -> Option<Finding> {
    let granted = |handler: &HandlerSettings| handler.sql.values().any(|grant| grant.database == database.name());
    if !config.handlers.iter().any(granted) {
        return None;
    }
    let Writable { tables, mend } = database.writable(workhost_queue::SCHEMA, &workhost_queue::TABLES).await?;
    let tables = tables.join(", ");
    let problem = format!("a granted statement could change workhost's own tables past the queue's fences: {tables}");
    let keys = ["databases", database.name(), "url"];
    Some(config.source.finding("database-can-write-queue", &keys, problem, Some(mend)).with(Severity::Warning))
}

/// What one `[[handlers]]` entry grants.
pub(super) fn grants(settings: &HandlerSettings, config: &Config) -> Grants {
    let statement = |(name, grant): (&String, &SqlSettings)| {
        let SqlSettings { database, statement, rows, time } = grant.clone();
        (name.clone(), SqlGrant { database, statement, rows, time })
    };
    let secret = |(name, from): (&String, &SecretSettings)| {
        let source = match from {
            SecretSettings::Env(variable) => SecretSource::Env(variable.env.clone()),
            SecretSettings::File(file) => SecretSource::File(config.source.resolve(&file.file)),
        };
        (name.clone(), source)
    };
    Grants {
        sql: settings.sql.iter().map(statement).collect(),
        queue: settings.queue.as_ref().map(|grant| QueueGrant { kinds: grant.kinds.clone() }),
        retention: settings.retention.as_ref().map(|grant| RetentionGrant { min_days: grant.min_days }),
        dirs: dirs(settings, config),
        http: settings.http.as_ref().map(|grant| http(grant, config)),
        config: settings.config.clone(),
        secrets: settings.secrets.iter().map(secret).collect(),
        memory_bytes: settings.memory.map(|bytes| bytes.0),
    }
}

/// The entries were checked when the configuration was read.
fn http(settings: &HttpSettings, config: &Config) -> HttpGrant {
    HttpGrant {
        allow: settings.allow.iter().filter_map(|entry| entry.parse().ok()).collect(),
        private: settings.private.iter().filter_map(|entry| entry.parse().ok()).collect(),
        ca: settings.ca.as_ref().map(|file| config.source.resolve(file)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_granted_to_read_unless_it_says_more() {
        let dirs = "[[handlers]]
            component = \"a.wasm\"
            dirs = [{ guest = \"/in\", path = \"/srv/in\" }, { guest = \"/out\", path = \"/srv/out\", mode = \"read-write\" }]";
        let config: Config = toml::from_str(dirs).unwrap();
        let dir = |guest: &str, host: &str, writable| DirGrant {
            guest_path: guest.to_owned(),
            host_path: host.to_owned(),
            writable,
        };
        let granted = grants(&config.handlers[0], &config).dirs;
        assert_eq!(granted, [dir("/in", "/srv/in", false), dir("/out", "/srv/out", true)]);
    }
}
