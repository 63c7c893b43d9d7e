//! How one lock differs from another, handler by handler and kind by kind.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::difference::{Change, Difference};
use super::{Lock, LockedHandler, imports, schema};

/// All that changed from the old lock to the new one, in an order that depends on nothing else. Empty if and only if the
/// two are equal.
pub fn differences(old: &Lock, new: &Lock) -> Vec<Difference> {
    let before = before(old, new);
    let comparison = Comparison { old, new, before, names: Names::of_both(old, new) };
    let handlers = new.handlers.iter().flat_map(|(component, handler)| comparison.handler(component, handler));
    handlers.chain(comparison.removed()).collect()
}

struct Comparison<'l> {
    old: &'l Lock,
    new: &'l Lock,
    /// By the path of a component: the path that it had.
    before: BTreeMap<&'l str, &'l str>,
    names: Names<'l>,
}

impl<'l> Comparison<'l> {
    /// What changed of one handler that there is now, and of its kinds.
    fn handler(&self, component: &str, handler: &LockedHandler) -> Vec<Difference> {
        let name = self.names.of(component);
        let before = self.before.get(component).copied();
        let was = before.and_then(|before| Some((before, self.old.handlers.get(before)?)));
        let mut found = match was {
            None => {
                let kinds = handler.kinds.keys().cloned().collect();
                let capabilities = imports::capabilities(handler).into_iter().map(str::to_owned).collect();
                vec![at(component, &[], Change::HandlerAdded { handler: name.clone(), kinds, capabilities })]
            }
            Some((before, was)) => self.changed(before, was, component, handler),
        };
        for (kind, payload) in &handler.kinds {
            found.extend(self.kind(component, before, kind, payload));
        }
        if let Some((before, was)) = was {
            let same = was.contract == handler.contract && was.imports == handler.imports && was.kinds == handler.kinds;
            if same && was.digest != handler.digest {
                found.push(at(before, &["digest"], Change::HandlerRebuilt { handler: name }));
            }
        }
        found
    }

    /// What changed of a handler beside its kinds' payloads.
    fn changed(&self, before: &str, was: &LockedHandler, component: &str, handler: &LockedHandler) -> Vec<Difference> {
        let name = self.names.of(component);
        let mut found = Vec::new();
        if before != component {
            let change = Change::HandlerMoved { from: before.to_owned(), to: component.to_owned() };
            found.push(at(before, &[], change));
        }
        if was.contract != handler.contract {
            let (from, to) = (was.contract.clone(), handler.contract.clone());
            found.push(at(before, &["contract"], Change::ContractChanged { handler: name.clone(), from, to }));
        }
        found.extend(imports::changes(&name, was, handler).into_iter().map(|change| at(before, &["imports"], change)));
        for kind in was.kinds.keys().filter(|kind| runner(self.new, kind).is_none()) {
            let change = Change::KindRemoved { handler: name.clone(), kind: kind.clone() };
            found.push(at(before, &["kinds", kind], change));
        }
        found
    }

    /// What changed of one kind. The one of a new handler is told with it.
    fn kind(&self, component: &str, before: Option<&str>, kind: &str, payload: &serde_json::Value) -> Vec<Difference> {
        let Some((runner, was)) = runner(self.old, kind) else {
            let added = || Change::KindAdded { handler: self.names.of(component), kind: kind.to_owned() };
            return before.map(|before| at(before, &["kinds"], added())).into_iter().collect();
        };
        let mut found = Vec::new();
        if before != Some(runner) {
            let (from, to) = (self.names.of(runner), self.names.of(component));
            found.push(at(runner, &["kinds", kind], Change::KindMoved { kind: kind.to_owned(), from, to }));
        }
        for change in schema::changes(was, payload) {
            let change = Change::PayloadChanged { kind: kind.to_owned(), change };
            found.push(at(runner, &["kinds", kind, "payload"], change));
        }
        found
    }

    /// The handlers that are gone.
    fn removed(&self) -> impl Iterator<Item = Difference> {
        let kept: BTreeSet<&str> = self.before.values().copied().collect();
        let gone = self.old.handlers.iter().filter(move |(component, _)| !kept.contains(component.as_str()));
        gone.map(move |(component, handler)| {
            // A kind that another handler runs now is told of there.
            let kinds = handler.kinds.keys().filter(|kind| runner(self.new, kind).is_none()).cloned().collect();
            at(component, &[], Change::HandlerRemoved { handler: self.names.of(component), kinds })
        })
    }
}

/// A change of what stands in the lock under this component.
fn at(component: &str, keys: &[&str], change: Change) -> Difference {
    let keys = ["handlers", component].iter().chain(keys).map(|key| key.to_string()).collect();
    Difference { keys, change }
}

/// The component that runs a kind, and the kind's schema.
fn runner<'l>(lock: &'l Lock, kind: &str) -> Option<(&'l str, &'l serde_json::Value)> {
    lock.handlers.iter().find_map(|(component, handler)| Some((component.as_str(), handler.kinds.get(kind)?)))
}

/// By the path of a component: the path that it had. One whose path is new is the one that ran one of its kinds and is
/// not there any more, as where a version is part of the name.
fn before<'l>(old: &'l Lock, new: &'l Lock) -> BTreeMap<&'l str, &'l str> {
    let paths = |lock: &'l Lock| -> BTreeSet<&'l str> { lock.handlers.keys().map(String::as_str).collect() };
    let (was, is) = (paths(old), paths(new));
    let mut before: BTreeMap<&str, &str> = is.intersection(&was).map(|path| (*path, *path)).collect();
    let mut left: BTreeSet<&str> = was.difference(&is).copied().collect();
    for component in is.difference(&was) {
        let kinds = new.handlers.get(*component).map(|handler| &handler.kinds);
        let ran = |path: &&str| old.handlers.get(*path).zip(kinds).is_some_and(|(was, kinds)| share(&was.kinds, kinds));
        if let Some(path) = left.iter().copied().find(ran) {
            left.remove(path);
            before.insert(*component, path);
        }
    }
    before
}

fn share<V>(some: &BTreeMap<String, V>, others: &BTreeMap<String, V>) -> bool {
    some.keys().any(|key| others.contains_key(key))
}

/// What people call a component: its file's name without `.wasm`, or its path where that is not clear.
struct Names<'l>(BTreeMap<&'l str, usize>);

impl<'l> Names<'l> {
    fn of_both(old: &'l Lock, new: &'l Lock) -> Names<'l> {
        let paths: BTreeSet<&String> = old.handlers.keys().chain(new.handlers.keys()).collect();
        let mut names = BTreeMap::new();
        for path in paths {
            *names.entry(stem(path)).or_default() += 1;
        }
        Names(names)
    }

    fn of(&self, component: &str) -> String {
        let name = stem(component);
        if self.0.get(name).is_some_and(|paths| *paths > 1) { component.to_owned() } else { name.to_owned() }
    }
}

fn stem(component: &str) -> &str {
    Path::new(component).file_stem().and_then(|stem| stem.to_str()).unwrap_or(component)
}

#[cfg(test)]
mod tests;
