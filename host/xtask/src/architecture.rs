//! The rules that the repository's structure must hold, as code.
//!
//! Dependencies are the walls between the crates; what a wall cannot hold (who writes the queue's
//! table, who knows a kind's name) is looked for in the source text. Each rule's tests show it
//! failing on deliberate violations.
//!
//! What these rules cannot see: SQL in a configuration file, SQL put together from parts that are no
//! SQL by themselves (a table's name read from outside), a write hidden in a database's own function
//! or trigger, and a write inside `host/queue` that is not one of its verbs. Reviews look for those.

mod dependencies;
mod kinds;
mod source;
#[cfg(test)]
mod tree;
mod unsafety;
mod writes;

use std::fmt;

use anyhow::Result;

use crate::workspace::Workspace;

/// One place that breaks a rule.
#[derive(Debug, PartialEq)]
pub(crate) struct Violation {
    /// A file, with a line where there is one.
    place: String,
    /// What is wrong there, and which way is right.
    what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Applies every rule.
///
/// # Errors
/// When a source file cannot be read or is no Rust.
pub(crate) fn violations(workspace: &Workspace) -> Result<Vec<Violation>> {
    let mut violations = dependencies::violations(workspace);
    violations.extend(writes::violations(&workspace.root())?);
    violations.extend(kinds::violations(workspace)?);
    violations.extend(unsafety::violations(&workspace.root())?);
    Ok(violations)
}
