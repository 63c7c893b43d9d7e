//! What the migrations' files must hold to, and that people are told of each migration.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

const STORES: [&str; 2] = ["postgres", "sqlite"];

/// What is wrong with the migrations of a repository.
///
/// # Errors
/// When a folder or the changelog cannot be read.
pub(crate) fn findings(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    let mut stores = Vec::new();
    for store in STORES {
        stores.push(read_store(root, store, &mut findings)?);
    }
    let newest = stores.iter().filter_map(|names| names.keys().next_back()).max().copied().unwrap_or(0);
    if newest == 0 {
        findings.push("migrations: there are none, or they lie elsewhere now".to_owned());
    }
    for version in 1..=newest {
        for (store, names) in STORES.iter().zip(&stores) {
            if !names.contains_key(&version) {
                findings.push(format!("migrations/{store}: there is no migration {version}; numbers have no gap, and each is on both stores"));
            }
        }
        if let [Some(one), Some(other)] = [stores[0].get(&version), stores[1].get(&version)]
            && one != other
        {
            findings.push(format!("migrations: migration {version} is called {one} and {other}; one thing, one name"));
        }
    }
    let changelog = fs::read_to_string(root.join("CHANGELOG.md")).context("cannot read CHANGELOG.md")?;
    findings.extend(untold(&changelog, newest));
    Ok(findings)
}

/// The names of a store's migrations by their numbers.
fn read_store(root: &Path, store: &str, findings: &mut Vec<String>) -> Result<BTreeMap<u32, String>> {
    let folder = format!("migrations/{store}");
    let code = format!("host/queue/src/{store}/migrate.rs");
    let embedded = fs::read_to_string(root.join(&code)).with_context(|| format!("cannot read {code}"))?;
    let mut files: Vec<String> = Vec::new();
    for entry in fs::read_dir(root.join(&folder)).with_context(|| format!("cannot read {folder}"))? {
        files.extend(entry?.file_name().into_string().ok().filter(|name| name.ends_with(".sql")));
    }
    files.sort();
    let mut names = BTreeMap::new();
    let mut parts = Vec::new();
    for file in files {
        let place = format!("{folder}/{file}");
        if !embedded.contains(&format!("/{place}\"")) {
            findings.push(format!("{place}: no build would ever apply it; {code} does not name it"));
        }
        match Name::parse(&file) {
            None => {
                findings.push(format!("{place}: expected NNNN_name.sql, or NNNNa_name.sql for a further part of it"))
            }
            Some(name) if name.is_further_part => parts.push((name.version, place)),
            Some(name) => {
                if let Some(first) = names.insert(name.version, name.name) {
                    findings.push(format!("{place}: number {} is taken by {first}", name.version));
                }
            }
        }
    }
    for (version, place) in parts.into_iter().filter(|(version, _)| !names.contains_key(version)) {
        findings.push(format!("{place}: is a further part of migration {version}, which is missing"));
    }
    Ok(names)
}

/// The name of a migration's file, taken apart.
struct Name {
    version: u32,
    /// `0001a_…`: it belongs to the migration of its number.
    is_further_part: bool,
    name: String,
}

impl Name {
    fn parse(file: &str) -> Option<Self> {
        let (number, name) = file.strip_suffix(".sql")?.split_once('_')?;
        let (digits, letter) = number.split_at_checked(4)?;
        let well_formed = digits.chars().all(|c| c.is_ascii_digit())
            && letter.len() <= 1
            && letter.chars().all(|c| c.is_ascii_lowercase())
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        let version = digits.parse().ok().filter(|version| well_formed && *version > 0)?;
        Some(Self { version, is_further_part: !letter.is_empty(), name: name.to_owned() })
    }
}

/// Migrations up to the newest that the changelog does not tell of, and what it tells in another form.
fn untold(changelog: &str, newest: u32) -> Vec<String> {
    let mut told: BTreeMap<u32, u32> = BTreeMap::new();
    let mut findings = Vec::new();
    for (line, text) in changelog.lines().enumerate() {
        let Some(entry) = text.strip_prefix("- Migration ") else { continue };
        match told_version(entry) {
            Some(version) if version <= newest => *told.entry(version).or_default() += 1,
            Some(version) => {
                findings.push(format!("CHANGELOG.md:{}: tells of migration {version}, which does not exist", line + 1));
            }
            None => findings.push(format!(
                "CHANGELOG.md:{}: expected `- Migration N (one-way): what it does`, or `(two-way)`",
                line + 1
            )),
        }
    }
    for version in 1..=newest {
        match told.get(&version) {
            Some(1) => {}
            Some(_) => findings.push(format!("CHANGELOG.md: tells of migration {version} more than once")),
            None => findings.push(format!(
                "CHANGELOG.md: lacks a line `- Migration {version} (one-way): what it does`, or `(two-way)`"
            )),
        }
    }
    findings
}

/// Of `2 (two-way): the column x`: the number.
fn told_version(entry: &str) -> Option<u32> {
    let (number, rest) = entry.split_once(' ')?;
    let what = rest.strip_prefix("(one-way): ").or_else(|| rest.strip_prefix("(two-way): "))?;
    number.parse().ok().filter(|_| !what.trim().is_empty())
}

#[cfg(test)]
mod tests;
