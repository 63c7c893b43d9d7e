//! A schema as it applies: with what it refers to.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// How many references are followed from one place; 16. Generators make one.
const REFERENCES: usize = 16;

/// A part of a schema, and the JSON pointer to it.
#[derive(Clone, Debug)]
pub(super) struct Part<'s> {
    pub(super) value: &'s Value,
    pub(super) pointer: String,
}

/// A part that is an object, together with what it refers to within the same schema. What stands beside a reference
/// goes first.
pub(super) struct View<'s>(Vec<(&'s Map<String, Value>, String)>);

impl<'s> Part<'s> {
    pub(super) fn root(value: &'s Value) -> Part<'s> {
        Part { value, pointer: String::new() }
    }

    /// The element of this index, if this is a list that has it.
    pub(super) fn element(&self, index: usize) -> Option<Part<'s>> {
        let value = self.value.as_array()?.get(index)?;
        Some(Part { value, pointer: format!("{}/{index}", self.pointer) })
    }

    /// The value under this key, if this is an object that has it.
    pub(super) fn field(&self, key: &str) -> Option<Part<'s>> {
        let value = self.value.as_object()?.get(key)?;
        Some(Part { value, pointer: below(&self.pointer, key) })
    }

    /// `None` where it is no object, but `true` or `false`.
    pub(super) fn view(&self, root: &'s Value) -> Option<View<'s>> {
        let mut view = View(Vec::new());
        let mut part = self.clone();
        for _ in 0..REFERENCES {
            view.0.push((part.value.as_object()?, part.pointer.clone()));
            let reference = part.value.get("$ref").and_then(Value::as_str);
            // In a URI, what is no plain letter may be written as `%2B`. Who does that sees the reference itself change.
            let Some(pointer) = reference.and_then(|reference| reference.strip_prefix('#')) else { break };
            let Some(value) = root.pointer(pointer) else { break };
            part = Part { value, pointer: pointer.to_owned() };
        }
        Some(view)
    }
}

impl<'s> View<'s> {
    pub(super) fn get(&self, key: &str) -> Option<Part<'s>> {
        let (value, pointer) = self.0.iter().find_map(|(map, pointer)| Some((map.get(key)?, pointer)))?;
        Some(Part { value, pointer: below(pointer, key) })
    }

    /// What the last reference leads to, or the part itself.
    pub(super) fn end(&self) -> Option<&'s Map<String, Value>> {
        self.0.last().map(|(map, _)| *map)
    }

    /// All keys but that of a reference which was followed.
    pub(super) fn keys(&self) -> BTreeSet<&'s str> {
        let last = self.0.len().saturating_sub(1);
        let keys = |(at, (map, _)): (usize, &(&'s Map<String, Value>, String))| -> Vec<&'s str> {
            map.keys().map(String::as_str).filter(|key| at == last || *key != "$ref").collect()
        };
        self.0.iter().enumerate().flat_map(keys).collect()
    }
}

/// A JSON pointer with one more key (RFC 6901).
pub(super) fn below(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}
