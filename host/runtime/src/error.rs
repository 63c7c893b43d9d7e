//! Why a runtime cannot start, or a component cannot be loaded.

use std::path::PathBuf;

use crate::capability::GrantForm;
use crate::digest::Digest;

/// The machine does not let the runtime start.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The engine refused its configuration or found no memory.
    #[error("the WebAssembly engine cannot start: {reason}")]
    Engine {
        /// What it said.
        reason: String,
    },
    /// No thread for the epochs.
    #[error("the thread that counts epochs cannot start: {reason}")]
    Thread {
        /// What the system said.
        reason: String,
    },
}

/// Why a component is no handler that can run here. Each variant is a finding for the author or the
/// operator; [`hint`](LoadError::hint) says the mend.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No such file.
    #[error("{} does not exist", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("{} cannot be read: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// Something else stands where the file should.
    #[error("{} is {what}, not a file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it is: `a directory`, `a FIFO`.
        what: &'static str,
    },
    /// The file has no content.
    #[error("{} is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is larger than a component may be.
    #[error("{} is larger than {limit}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit, in words.
        limit: String,
    },
    /// The file is something else than a component.
    #[error("{} is {what}, not a WebAssembly component", path.display())]
    NotAComponent {
        /// The file.
        path: PathBuf,
        /// What it is, as far as its beginning tells.
        what: &'static str,
        /// What to do about it.
        mend: &'static str,
    },
    /// The file ends in the middle of a component.
    #[error("{} is truncated: it ends after {length} bytes, in the middle of a section", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The bytes that are there.
        length: usize,
    },
    /// The file begins as a component, and does not go on as one.
    #[error("{} is not a valid component: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What the compiler said.
        reason: String,
    },
    /// It is another build than the one that was pinned.
    #[error("{} has the digest {found}, and {pinned} is pinned", path.display())]
    OtherDigest {
        /// The file.
        path: PathBuf,
        /// What it must be.
        pinned: Digest,
        /// What it is.
        found: Digest,
    },
    /// It uses a part of WebAssembly that this host does not offer.
    #[error("{} uses {feature}, which this host does not offer", path.display())]
    Feature {
        /// The file.
        path: PathBuf,
        /// What it uses, in words.
        feature: &'static str,
    },
    /// It needs more memories, tables or instances than any sandbox has.
    #[error("{} needs more than a sandbox has: {reason}", path.display())]
    TooDemanding {
        /// The file.
        path: PathBuf,
        /// Of what, and how much there is.
        reason: String,
    },
    /// A component, but no handler.
    #[error("the component exports no `workhost:handler/handler`, so it is no handler ({exports})")]
    NotAHandler {
        /// What it exports instead, for people.
        exports: String,
    },
    /// A handler for another version of the contract.
    #[error("the component needs workhost:handler {needs}, this host offers {offers}")]
    OtherVersion {
        /// The version that it needs, as far as it matters: `0.2`.
        needs: String,
        /// The version here.
        offers: String,
    },
    /// It imports what it was not granted, or what is not there.
    #[error("the component imports what it was not granted: {}", names(imports))]
    ImportsRefused {
        /// Each refused import.
        imports: Vec<RefusedImport>,
    },
    /// An import or export has the right name and another type.
    #[error("the component does not fit the contract: {reason}")]
    TypeMismatch {
        /// Which item, and how it differs.
        reason: String,
    },
    /// A granted statement does not prepare.
    #[error("statement `{name}` on database `{database}`: {reason}")]
    Statement {
        /// The statement's name in the grant.
        name: String,
        /// The database's name.
        database: String,
        /// What the database, or the check before it, said.
        reason: String,
    },
    /// The database of a granted statement does not answer, so the statement could not be checked.
    #[error("statement `{name}` cannot be checked: database `{database}` is unavailable: {reason}")]
    DatabaseUnavailable {
        /// The statement's name in the grant.
        name: String,
        /// The database's name.
        database: String,
        /// What the driver said, without secrets.
        reason: String,
    },
    /// A granted folder is not there, or its paths make no sense.
    #[error("folder `{folder}`: {reason}")]
    Folder {
        /// The path in question.
        folder: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A granted secret is not where it should be.
    #[error("secret `{name}`: {reason}")]
    Secret {
        /// The secret's name in the grant.
        name: String,
        /// Where it should be, and why it is not there.
        reason: String,
    },
    /// The certificates of a grant of `http` cannot be used.
    #[error("certificates {}: {reason}", path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The grant's memory is more than a sandbox can have.
    #[error("a memory of {wanted} cannot be granted: the most is {limit}")]
    Memory {
        /// What was granted, in words.
        wanted: String,
        /// The most that there is, in words.
        limit: String,
    },
    /// Several of these, found at once.
    #[error("{}", several(.0))]
    Several(Vec<LoadError>),
    /// `describe` names one kind twice.
    #[error("the component describes kind `{kind}` twice")]
    DescribedTwice {
        /// The kind.
        kind: String,
    },
    /// `describe` did not answer, or what it answered makes no sense.
    #[error("describe: {reason}")]
    Describe {
        /// What went wrong.
        reason: String,
    },
}

/// An import that was refused, and the grant to add where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedImport {
    /// The import's name: `workhost:handler/sql@0.1.0`.
    pub name: String,
    /// How it would be granted.
    pub grant: Option<GrantForm>,
}

fn names(imports: &[RefusedImport]) -> String {
    imports.iter().map(|import| format!("`{}`", import.name)).collect::<Vec<_>>().join(", ")
}

fn several(errors: &[LoadError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl LoadError {
    /// One error of these, or all of them.
    pub(crate) fn all(mut errors: Vec<LoadError>) -> Result<(), LoadError> {
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(LoadError::Several(errors)),
        }
    }

    /// The errors one by one.
    pub fn each(&self) -> &[LoadError] {
        match self {
            LoadError::Several(errors) => errors,
            error => std::slice::from_ref(error),
        }
    }

    /// A stable word for this sort of error, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            LoadError::Missing { .. } => "component-missing",
            LoadError::Unreadable { .. } | LoadError::NotAFile { .. } => "component-unreadable",
            LoadError::Empty { .. } => "component-empty",
            LoadError::TooLarge { .. } => "component-too-large",
            LoadError::NotAComponent { .. } => "not-a-component",
            LoadError::Truncated { .. } => "component-truncated",
            LoadError::Invalid { .. } => "component-invalid",
            LoadError::OtherDigest { .. } => "digest-mismatch",
            LoadError::Feature { .. } => "component-feature",
            LoadError::TooDemanding { .. } => "component-too-demanding",
            LoadError::NotAHandler { .. } => "not-a-handler",
            LoadError::OtherVersion { .. } => "contract-version",
            LoadError::ImportsRefused { .. } => "import-not-granted",
            LoadError::TypeMismatch { .. } => "contract-mismatch",
            LoadError::Statement { .. } => "statement-refused",
            LoadError::DatabaseUnavailable { .. } => "database-unreachable",
            LoadError::Folder { .. } => "folder-refused",
            LoadError::Secret { .. } => "secret-missing",
            LoadError::Certificates { .. } => "certificates-refused",
            LoadError::Memory { .. } => "memory-too-large",
            LoadError::Several(errors) => errors.first().map_or("component-invalid", LoadError::code),
            LoadError::DescribedTwice { .. } => "kind-described-twice",
            LoadError::Describe { .. } => "describe-failed",
        }
    }

    /// What to do about it, in a sentence or two; `None` where the error says it all.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            LoadError::Missing { .. } => "build the component, or correct the path; a relative one starts at the configuration's folder".into(),
            LoadError::NotAComponent { mend, .. } => (*mend).into(),
            LoadError::Empty { .. } | LoadError::Truncated { .. } | LoadError::Invalid { .. } => "the file may have been cut off while it was written or copied: build it again".into(),
            LoadError::OtherDigest { found, .. } => format!("put the pinned build back; or look at what this one is, and pin it: digest = \"{found}\""),
            LoadError::Feature { .. } => "build it for wasm32-wasip2 (WASI 0.2), without newer proposals".into(),
            LoadError::TooDemanding { .. } => "link it into fewer or smaller parts".into(),
            LoadError::NotAHandler { .. } => "build it against the world `workhost:handler/base`, or one that includes it; in Rust, end the crate with `export_handlers!(…)`".into(),
            LoadError::OtherVersion { offers, .. } => format!("build it against workhost:handler {offers}, or use a workhost that offers the other version"),
            LoadError::ImportsRefused { imports } => refused_hint(imports),
            LoadError::TypeMismatch { .. } => "build it against the contract in `wit/` of this version of workhost".into(),
            LoadError::Describe { .. } => "`describe` answers constants, within seconds and without any capability".into(),
            LoadError::DescribedTwice { .. } => "name each kind once; a kind has one payload type".into(),
            LoadError::Secret { .. } => "set the variable or write the file where the daemon can read it, or correct the name; `validate --offline` reads no secrets".into(),
            LoadError::DatabaseUnavailable { .. } => "start the database, or correct its URL".into(),
            LoadError::Certificates { .. } => "name a file with root certificates in PEM, such as the one of your own authority".into(),
            LoadError::Unreadable { .. }
            | LoadError::NotAFile { .. }
            | LoadError::TooLarge { .. }
            | LoadError::Statement { .. }
            | LoadError::Folder { .. }
            | LoadError::Several(_)
            | LoadError::Memory { .. } => return None,
        })
    }
}

fn refused_hint(imports: &[RefusedImport]) -> String {
    let mut hints: Vec<String> = Vec::new();
    for import in imports {
        let hint = match import.grant {
            Some(grant) => format!("grant `{}` with {}, if the handler may have it", import.name, grant.table()),
            None => format!("there is no grant for `{}`: build the handler without it", import.name),
        };
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    hints.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_imports_are_told_by_name() {
        let import = |name: &str| RefusedImport { name: name.to_owned(), grant: None };
        let imports = vec![import("wasi:http/types@0.2.0"), import("a:b/c")];
        let told = LoadError::ImportsRefused { imports }.to_string();
        assert!(told.contains("`wasi:http/types@0.2.0`, `a:b/c`"), "{told}");
    }

    #[test]
    fn several_errors_are_told_one_after_the_other() {
        let twice = |kind: &str| LoadError::DescribedTwice { kind: kind.to_owned() };
        let told = LoadError::all(vec![twice("a"), twice("b")]).unwrap_err();
        assert_eq!(told.to_string(), format!("{}; {}", twice("a"), twice("b")));
        assert_eq!((told.each().len(), told.code(), told.hint()), (2, "kind-described-twice", None));
    }
}
