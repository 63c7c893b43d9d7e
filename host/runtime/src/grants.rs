//! What a handler may do.

use std::collections::BTreeMap;

use crate::capability::dirs::DirGrant;
use crate::capability::retention::RetentionGrant;
use crate::capability::sql::SqlGrant;

/// The capabilities of one handler. Nothing is granted by default.
#[derive(Default)]
pub struct Grants {
    /// Statements that it may run, by the name that it knows them by.
    pub sql: BTreeMap<String, SqlGrant>,
    /// The right to delete finished work items.
    pub retention: Option<RetentionGrant>,
    /// Folders that it sees.
    pub dirs: Vec<DirGrant>,
    /// Bytes of memory per attempt, instead of [`Limits::memory_bytes`](crate::Limits::memory_bytes).
    pub memory_bytes: Option<usize>,
}

/// Grants without what they need to work: enough to check a component against them.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    /// The texts of the granted statements, by the name that the handler knows them by.
    pub statements: BTreeMap<String, StatementText>,
    /// Whether it may delete finished work items.
    pub retention: bool,
    /// Folders that it sees.
    pub dirs: Vec<DirGrant>,
    /// As [`Grants::memory_bytes`].
    pub memory_bytes: Option<usize>,
}

/// A statement, and the name of the database that it is for.
#[derive(Clone, Debug)]
pub struct StatementText {
    /// The database's name in the configuration.
    pub database: String,
    /// Its text: one statement that reads or changes rows.
    pub text: String,
}

impl Grants {
    /// What is granted, in outline.
    pub(crate) fn outline(&self) -> Outline {
        let text = |grant: &SqlGrant| StatementText {
            database: grant.database.name().to_owned(),
            text: grant.statement.clone(),
        };
        Outline {
            statements: self.sql.iter().map(|(name, grant)| (name.clone(), text(grant))).collect(),
            retention: self.retention.is_some(),
            dirs: self.dirs.clone(),
            memory_bytes: self.memory_bytes,
        }
    }
}
