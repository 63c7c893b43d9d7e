//! What is known of a component once it was looked at.

use crate::error::{LoadError, RefusedImport};
use crate::handler::KindDescription;
use crate::imports::Import;

/// A component that was compiled, checked against its grants and asked for its kinds.
#[derive(Clone, Debug)]
pub struct Examined {
    /// `sha256:` and the digest of the very bytes that were compiled.
    pub digest: String,
    /// The version of the contract that it was built against, `0.1.0`.
    pub contract: String,
    /// The kinds that it runs, each once, by name.
    pub kinds: Vec<KindDescription>,
    /// What it imports, in the component's order.
    pub imports: Vec<Import>,
    /// The keys of grants that it has no import for: `sql`, `retention`, `dirs`.
    pub unused_grants: Vec<&'static str>,
}

/// What a component says of itself, without any grant.
#[derive(Debug)]
pub struct Inspection {
    /// `sha256:` and the digest of the file.
    pub digest: String,
    /// The file's size in bytes.
    pub bytes: usize,
    /// The version of the contract that it was built against, `0.1.0`.
    pub contract: String,
    /// The kinds that it runs; or why it could not be asked.
    pub kinds: Result<Vec<KindDescription>, LoadError>,
    /// The imports that every handler has.
    pub imports: Vec<Import>,
    /// The imports that need a grant, each with the grant's key.
    pub grantable: Vec<RefusedImport>,
    /// The imports that no handler can have.
    pub refused: Vec<RefusedImport>,
}
