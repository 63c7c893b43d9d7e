//! How a payload's schema changed: field by field as far as it is one of objects with fields.

mod path;
mod types;
mod view;
mod walk;

use serde_json::Value;

use super::difference::name;

pub use path::FieldPath;

/// Changes of one schema that are told; 20. Nobody reads more of what was written anew.
const MOST: usize = 20;

/// One change of a payload's schema.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemaChange {
    /// A field is gone.
    FieldLost {
        /// Which.
        field: FieldPath,
        /// The queued items that have it, if they were counted.
        queued: Option<u64>,
    },
    /// There is a new field.
    FieldAdded {
        /// Which.
        field: FieldPath,
        /// Whether each payload must have it.
        required: bool,
    },
    /// A field must be there now.
    FieldRequired(FieldPath),
    /// A field may be left out now.
    FieldOptional(FieldPath),
    /// A field, or the payload itself, is of another type.
    Type {
        /// Which.
        field: FieldPath,
        /// Its type before, in words.
        from: String,
        /// Its type now.
        to: String,
    },
    /// Something else.
    Otherwise {
        /// A JSON pointer to it, within the schema.
        pointer: String,
    },
    /// More changes than are told.
    More {
        /// How many.
        count: usize,
    },
}

/// What changed, the most telling first. Empty if and only if the two are equal.
pub(super) fn changes(old: &Value, new: &Value) -> Vec<SchemaChange> {
    if old == new {
        return Vec::new();
    }
    let mut changes = walk::changes(old, new);
    if changes.is_empty() {
        // In a part that nothing refers to, or too deep to be followed.
        changes.push(SchemaChange::Otherwise { pointer: walk::first_difference(old, new, String::new()) });
    }
    changes.sort_by_key(SchemaChange::rank);
    if changes.len() > MOST {
        let count = changes.len() - MOST;
        changes.truncate(MOST);
        changes.push(SchemaChange::More { count });
    }
    changes
}

impl SchemaChange {
    /// What refuses queued payloads comes first, then what may.
    fn rank(&self) -> u8 {
        match self {
            SchemaChange::FieldLost { .. } => 0,
            SchemaChange::FieldAdded { required: true, .. } | SchemaChange::FieldRequired(_) => 1,
            SchemaChange::Type { .. } => 2,
            SchemaChange::FieldAdded { required: false, .. } | SchemaChange::FieldOptional(_) => 3,
            SchemaChange::Otherwise { .. } => 4,
            SchemaChange::More { .. } => 5,
        }
    }

    /// A stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            SchemaChange::FieldLost { .. } => "lock-field-lost",
            SchemaChange::FieldAdded { .. } => "lock-field-added",
            SchemaChange::FieldRequired(_) => "lock-field-required",
            SchemaChange::FieldOptional(_) => "lock-field-optional",
            SchemaChange::Type { .. } => "lock-field-type-changed",
            SchemaChange::Otherwise { .. } | SchemaChange::More { .. } => "lock-payload-changed",
        }
    }
}

/// What follows `payload of report`.
impl std::fmt::Display for SchemaChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of = |field: &FieldPath| format!("`{}`", name(&field.to_string()));
        match self {
            SchemaChange::FieldLost { field, queued } => {
                write!(f, "lost the field {}", of(field))?;
                match queued {
                    None => Ok(()),
                    Some(0) => write!(f, "; no queued item has it"),
                    Some(1) => write!(f, "; 1 queued item has it"),
                    Some(count) => write!(f, "; {count} queued items have it"),
                }
            }
            SchemaChange::FieldAdded { field, required } => {
                let required = if *required { ", which is required" } else { "" };
                write!(f, "has the new field {}{required}", of(field))
            }
            SchemaChange::FieldRequired(field) => write!(f, "now requires the field {}", of(field)),
            SchemaChange::FieldOptional(field) => write!(f, "no longer requires the field {}", of(field)),
            SchemaChange::Type { field, from, to } if field.is_root() => write!(f, "is now {to}; it was {from}"),
            SchemaChange::Type { field, from, to } => write!(f, "has {} as {to}; it was {from}", of(field)),
            SchemaChange::Otherwise { pointer } if pointer.is_empty() => write!(f, "changed altogether"),
            SchemaChange::Otherwise { pointer } => write!(f, "changed otherwise: at {}", name(pointer)),
            SchemaChange::More { count } => write!(f, "changed in {count} more places"),
        }
    }
}

#[cfg(test)]
mod tests;
