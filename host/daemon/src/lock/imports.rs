//! How the imports of a component changed.

use std::collections::{BTreeMap, BTreeSet};

use super::LockedHandler;
use super::difference::Change;

/// What changed of a handler's imports: first in the words of grants, then what needs none.
pub(super) fn changes(handler: &str, old: &LockedHandler, new: &LockedHandler) -> Vec<Change> {
    let mut gone: BTreeSet<&str> = old.imports.difference(&new.imports).map(String::as_str).collect();
    let mut come: BTreeSet<&str> = new.imports.difference(&old.imports).map(String::as_str).collect();
    let versions = versions(&mut gone, &mut come);
    let (before, after) = (capabilities(old), capabilities(new));
    let added = after
        .difference(&before)
        .map(|capability| Change::CapabilityAdded { handler: handler.to_owned(), capability: capability.to_string() });
    let removed = before.difference(&after).map(|capability| Change::CapabilityRemoved {
        handler: handler.to_owned(),
        capability: capability.to_string(),
    });
    let mut changes: Vec<Change> = added.chain(removed).collect();
    // What was told in the words of a grant is not told again by its name.
    let plain = |names: BTreeSet<&str>| -> Vec<String> {
        let both = |name: &&str| capability(name).is_none_or(|one| before.contains(one) && after.contains(one));
        names.into_iter().filter(both).map(str::to_owned).collect()
    };
    let (come, gone) = (plain(come), plain(gone));
    if !come.is_empty() {
        changes.push(Change::ImportsAdded { handler: handler.to_owned(), imports: come });
    }
    if !gone.is_empty() {
        changes.push(Change::ImportsRemoved { handler: handler.to_owned(), imports: gone });
    }
    for ((from, to), packages) in versions {
        // Told as the version of the contract.
        let contract = from == old.contract && to == new.contract && packages.iter().all(|name| *name == CONTRACT);
        if !contract {
            let packages = packages.into_iter().map(str::to_owned).collect();
            let (from, to) = (from.to_owned(), to.to_owned());
            changes.push(Change::ImportsOfOtherVersion { handler: handler.to_owned(), packages, from, to });
        }
    }
    changes
}

/// The package of the contract with handlers.
const CONTRACT: &str = "workhost:handler";

/// What needs a grant, by the key that grants it.
pub(super) fn capabilities(handler: &LockedHandler) -> BTreeSet<&str> {
    handler.imports.iter().filter_map(|name| capability(name)).collect()
}

/// The grant that an import is about, by its key in a handler's configuration.
fn capability(name: &str) -> Option<&str> {
    let (path, _) = name.split_once('@').unwrap_or((name, ""));
    match path.split_once('/')? {
        (CONTRACT, "types" | "work" | "log") => None,
        // Each of the contract's other interfaces is called as its grant.
        (CONTRACT, interface) => Some(interface),
        ("wasi:http", _) => Some("http"),
        ("wasi:filesystem", _) => Some("dirs"),
        _ => None,
    }
}

/// Takes the interfaces out that came in another version, and answers their packages by the versions before and after.
fn versions<'n>(
    gone: &mut BTreeSet<&'n str>,
    come: &mut BTreeSet<&'n str>,
) -> BTreeMap<(&'n str, &'n str), BTreeSet<&'n str>> {
    let mut versions: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for old in gone.clone() {
        let Some((path, from)) = old.split_once('@') else { continue };
        let same = |name: &&&str| name.split_once('@').is_some_and(|(other, _)| other == path);
        let Some(new) = come.iter().find(same).copied() else { continue };
        let Some((_, to)) = new.split_once('@') else { continue };
        let package = path.split_once('/').map_or(path, |(package, _)| package);
        versions.entry((from, to)).or_default().insert(package);
        gone.remove(old);
        come.remove(new);
    }
    versions
}
