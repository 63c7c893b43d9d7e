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
