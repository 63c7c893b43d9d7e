//! One difference between a lock and a registry, and the words for it.

use workhost_runtime::harmless_line;

use super::schema::SchemaChange;
use crate::config::Source;
use crate::finding::Finding;

/// Bytes of one name in a sentence; 120. A component may have chosen it.
const NAME_BYTES: usize = 120;
/// Names that one sentence lists; 12. A language's runtime brings some twenty imports.
const NAMES: usize = 12;

/// One thing that is not as it was locked.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where it stands in the lock: the deepest of these keys that exists.
    pub keys: Vec<String>,
    /// What changed.
    pub change: Change,
}

/// What changed. Handlers are called by the short name that people know them by.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the words below are their description")]
pub enum Change {
    HandlerAdded {
        handler: String,
        kinds: Vec<String>,
        capabilities: Vec<String>,
    },
    HandlerRemoved {
        handler: String,
        kinds: Vec<String>,
    },
    /// The component of the same kinds has another path.
    HandlerMoved {
        from: String,
        to: String,
    },
    /// Nothing else of it changed.
    HandlerRebuilt {
        handler: String,
    },
    ContractChanged {
        handler: String,
        from: String,
        to: String,
    },
    /// What a grant is about: `sql`, `http`.
    CapabilityAdded {
        handler: String,
        capability: String,
    },
    CapabilityRemoved {
        handler: String,
        capability: String,
    },
    ImportsAdded {
        handler: String,
        imports: Vec<String>,
    },
    ImportsRemoved {
        handler: String,
        imports: Vec<String>,
    },
    ImportsOfOtherVersion {
        handler: String,
        packages: Vec<String>,
        from: String,
        to: String,
    },
    KindAdded {
        handler: String,
        kind: String,
    },
    KindRemoved {
        handler: String,
        kind: String,
    },
    KindMoved {
        kind: String,
        from: String,
        to: String,
    },
    PayloadChanged {
        kind: String,
        change: SchemaChange,
    },
}

impl Difference {
    /// The finding about it, in the lock from there.
    pub fn finding(&self, lock: &Source) -> Finding {
        let keys: Vec<&str> = self.keys.iter().map(String::as_str).collect();
        let mend = "if it is meant so, run `workhost lock` and commit the file; else bring back what was locked";
        lock.finding(self.change.code(), &keys, self.change.to_string(), Some(mend.into()))
    }
}

impl Change {
    /// A stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Change::HandlerAdded { .. } => "lock-handler-added",
            Change::HandlerRemoved { .. } => "lock-handler-removed",
            Change::HandlerMoved { .. } => "lock-handler-moved",
            Change::HandlerRebuilt { .. } => "lock-handler-rebuilt",
            Change::ContractChanged { .. } => "lock-contract-changed",
            Change::CapabilityAdded { .. } | Change::ImportsAdded { .. } => "lock-import-added",
            Change::CapabilityRemoved { .. } | Change::ImportsRemoved { .. } => "lock-import-removed",
            Change::ImportsOfOtherVersion { .. } => "lock-import-version-changed",
            Change::KindAdded { .. } => "lock-kind-added",
            Change::KindRemoved { .. } => "lock-kind-removed",
            Change::KindMoved { .. } => "lock-kind-moved",
            Change::PayloadChanged { change, .. } => change.code(),
        }
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Change::HandlerAdded { handler, kinds, capabilities } => {
                let asks = if capabilities.is_empty() { "nothing".into() } else { bare(capabilities) };
                write!(f, "{} is new: it runs {}, and asks for {asks}", name(handler), quoted(kinds))
            }
            Change::HandlerRemoved { handler, kinds } if kinds.is_empty() => {
                write!(f, "{} is gone: others run its kinds", name(handler))
            }
            Change::HandlerRemoved { handler, kinds } => {
                write!(f, "{} is gone: it ran {}", name(handler), quoted(kinds))
            }
            Change::HandlerMoved { from, to } => write!(f, "`{}` has taken the place of `{}`", name(to), name(from)),
            Change::HandlerRebuilt { handler } => {
                write!(f, "{} was rebuilt: its digest changed, its kinds and imports did not", name(handler))
            }
            Change::ContractChanged { handler, from, to } => {
                let handler = name(handler);
                write!(f, "{handler} is now built for workhost:handler {}; it was for {}", name(to), name(from))
            }
            Change::CapabilityAdded { handler, capability } => {
                write!(f, "{} now also asks for {}", name(handler), name(capability))
            }
            Change::CapabilityRemoved { handler, capability } => {
                write!(f, "{} no longer asks for {}", name(handler), name(capability))
            }
            Change::ImportsAdded { handler, imports } => {
                write!(f, "{} now also imports {}, for which it needs no further grant", name(handler), quoted(imports))
            }
            Change::ImportsRemoved { handler, imports } => {
                write!(f, "{} no longer imports {}", name(handler), quoted(imports))
            }
            Change::ImportsOfOtherVersion { handler, packages, from, to } => {
                let (handler, packages) = (name(handler), quoted(packages));
                write!(f, "{handler} now imports {packages} in version {}; it was {}", name(to), name(from))
            }
            Change::KindAdded { handler, kind } => write!(f, "{} now also runs `{}`", name(handler), name(kind)),
            Change::KindRemoved { handler, kind } => write!(f, "{} no longer runs `{}`", name(handler), name(kind)),
            Change::KindMoved { kind, from, to } => {
                write!(f, "`{}` is now run by {}; it was by {}", name(kind), name(to), name(from))
            }
            Change::PayloadChanged { kind, change } => write!(f, "payload of {} {change}", name(kind)),
        }
    }
}

/// A name that cannot speak to a terminal or fill the page.
pub(super) fn name(text: &str) -> String {
    harmless_line(text, NAME_BYTES)
}

fn quoted(names: &[String]) -> String {
    list(names, |text| format!("`{}`", name(text)))
}

fn bare(names: &[String]) -> String {
    list(names, name)
}

/// `a, b and c`
fn list(names: &[String], written: impl Fn(&str) -> String) -> String {
    let mut shown: Vec<String> = names.iter().take(NAMES).map(|name| written(name)).collect();
    if names.len() > NAMES {
        shown.push(format!("{} more", names.len() - NAMES));
    }
    match shown.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => shown.concat(),
    }
}

#[cfg(test)]
mod tests;
