//! What `cargo mutants` leaves out: one list, with a reason for each.

use std::fs;

use anyhow::{Context, Result};
use toml_edit::{DocumentMut, Item};

use crate::workspace::Workspace;

/// The list.
const LIST: &str = ".cargo/mutants.toml";

/// The keys of the list that leave something out.
const EXCLUSIONS: [&str; 2] = ["exclude_re", "exclude_globs"];

/// What is left out without a reason, and what is left out elsewhere than in the list.
///
/// # Errors
/// When the list cannot be read.
pub(crate) fn findings(workspace: &Workspace) -> Result<Vec<String>> {
    let text = fs::read_to_string(workspace.root().join(LIST)).with_context(|| format!("cannot read {LIST}"))?;
    let mut findings = without_reason(&text)?;
    for package in workspace.packages() {
        if package.dependencies.iter().any(|dependency| dependency.name == "mutants") {
            let name = &package.name;
            findings.push(format!("{name}: the attributes of the crate `mutants` hide places from the list in {LIST}"));
        }
    }
    Ok(findings)
}

/// The exclusions above which no comment stands.
fn without_reason(list: &str) -> Result<Vec<String>> {
    let list: DocumentMut = list.parse().with_context(|| format!("{LIST} is not TOML"))?;
    let mut findings = Vec::new();
    for key in EXCLUSIONS {
        for excluded in list.get(key).and_then(Item::as_array).into_iter().flatten() {
            let before = excluded.decor().prefix().and_then(|before| before.as_str()).unwrap_or_default();
            // What stands on the line of the one before belongs to that.
            let mut comments = before.lines().skip(1).filter_map(|line| line.trim().strip_prefix('#'));
            if !comments.any(|reason| !reason.trim().is_empty()) {
                let excluded = excluded.as_str().unwrap_or_default();
                findings.push(format!("{LIST}: `{excluded}` is left out without a reason; say it in a comment above"));
            }
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exclusion_without_a_reason_is_found() {
        let list = r##"
timeout_multiplier = 3
exclude_re = [
    # Equal to the other: nobody can tell.
    "one",
    "two",
    #
    "three", # too late
    "four",
]
exclude_globs = ["five"]
"##;
        let found = without_reason(list).unwrap();
        assert_eq!(found.len(), 4, "{found:?}");
        for (found, name) in found.iter().zip(["two", "three", "four", "five"]) {
            assert!(found.contains(&format!("`{name}`")), "{found}");
        }
    }
}
