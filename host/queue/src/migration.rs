//! The schema's migrations, and which of them a store still needs.

use sha2::{Digest, Sha256};

use crate::{Migrated, QueueError, Result};

/// One step of the schema, embedded into the binary.
#[derive(Debug)]
pub(crate) struct Migration {
    /// Its place in the order, from 1 without gaps.
    pub(crate) version: i64,
    /// The name of its file.
    pub(crate) name: &'static str,
    /// Its statements.
    pub(crate) sql: &'static str,
    /// The oldest schema version whose binaries still work beside this step.
    pub(crate) oldest_binary: i64,
}

impl Migration {
    /// The hash of the statements, by which a store knows a changed file.
    pub(crate) fn checksum(&self) -> String {
        hex::encode(Sha256::digest(self.sql))
    }
}

/// A migration that a store says it has.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) version: i64,
    pub(crate) name: String,
    pub(crate) checksum: String,
    pub(crate) oldest_binary: i64,
}

/// The migrations that a store with these applied ones still needs, in order.
///
/// [`Unusable`](QueueError::Unusable) if this binary is older than the store's schema allows, or if a
/// migration was changed after it had been applied.
pub(crate) fn pending<'m>(known: &'m [Migration], applied: &[Applied]) -> Result<Vec<&'m Migration>> {
    let newest_known = known.last().map_or(0, |migration| migration.version);
    for row in applied {
        if row.oldest_binary > newest_known {
            return Err(QueueError::Unusable {
                reason: format!(
                    "its schema has version {} ({}), which needs a workhost that knows schema version {} or newer; this \
                     one knows {newest_known}: install a newer workhost",
                    row.version, row.name, row.oldest_binary
                ),
            });
        }
        let ours = known.iter().find(|migration| migration.version == row.version);
        if ours.is_some_and(|ours| ours.checksum() != row.checksum) {
            return Err(QueueError::Unusable {
                reason: format!(
                    "migration {} ({}) was applied by a build whose statements differ from this one's: use the build \
                     that made the store, or a new store",
                    row.version, row.name
                ),
            });
        }
    }
    let newest_applied = applied.iter().map(|row| row.version).max().unwrap_or(0);
    Ok(known.iter().filter(|migration| migration.version > newest_applied).collect())
}

/// What a migrator did that found these and applied those.
pub(crate) fn migrated(before: &[Applied], now: &[&Migration]) -> Migrated {
    let versions = before.iter().map(|row| row.version).chain(now.iter().map(|migration| migration.version));
    Migrated {
        applied: now.iter().map(|migration| migration.name.to_owned()).collect(),
        version: versions.max().unwrap_or(0),
    }
}

/// Like [`pending`], for a caller that will not migrate: [`Unusable`](QueueError::Unusable) if any is.
pub(crate) fn none_pending(known: &[Migration], applied: &[Applied]) -> Result<()> {
    match pending(known, applied)?.first() {
        None => Ok(()),
        Some(first) => Err(QueueError::Unusable {
            reason: format!("its schema lacks migration {}: run `workhost serve`, which migrates it", first.name),
        }),
    }
}

/// Shows that a store's migrations are numbered without gaps, and that the changelog says of each whether the
/// builds before it can work with it.
#[cfg(test)]
pub(crate) fn assert_in_order_and_told(migrations: &[Migration]) {
    for (place, migration) in migrations.iter().enumerate() {
        let version = migration.version;
        assert_eq!(usize::try_from(version), Ok(place + 1), "{}", migration.name);
        assert!(migration.name.starts_with(&format!("{version:04}_")), "{}", migration.name);
        let way = if migration.oldest_binary < version { "two-way" } else { "one-way" };
        let line = format!("\n- Migration {version} ({way}): ");
        assert!(include_str!("../../../CHANGELOG.md").contains(&line), "CHANGELOG.md lacks:{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Migration; 2] = [
        Migration { version: 1, name: "0001_a", sql: "a", oldest_binary: 1 },
        Migration { version: 2, name: "0002_b", sql: "b", oldest_binary: 1 },
    ];

    fn applied(version: i64, sql: &str, oldest_binary: i64) -> Applied {
        let checksum = hex::encode(Sha256::digest(sql));
        Applied { version, name: format!("000{version}"), checksum, oldest_binary }
    }

    #[test]
    fn what_is_missing_is_pending_in_order() {
        let versions =
            |rows: &[Applied]| -> Vec<i64> { pending(&KNOWN, rows).unwrap().iter().map(|m| m.version).collect() };
        assert_eq!(versions(&[]), [1, 2]);
        assert_eq!(versions(&[applied(1, "a", 1)]), [2]);
        assert!(none_pending(&KNOWN, &[applied(1, "a", 1)]).is_err());
    }

    #[test]
    fn a_newer_schema_is_used_unless_it_says_otherwise() {
        let both = || vec![applied(1, "a", 1), applied(2, "b", 1)];
        let mut additive = both();
        additive.push(applied(3, "c", 2));
        assert!(pending(&KNOWN, &additive).unwrap().is_empty());
        let mut breaking = both();
        breaking.push(applied(3, "c", 3));
        let error = pending(&KNOWN, &breaking).unwrap_err().to_string();
        assert!(error.contains("needs a workhost that knows schema version 3"), "{error}");
    }

    #[test]
    fn a_changed_migration_is_refused() {
        assert!(pending(&KNOWN, &[applied(1, "other", 1)]).is_err());
    }
}
