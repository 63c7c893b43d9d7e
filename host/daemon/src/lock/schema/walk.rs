//! Two schemas side by side, from the payload down to its fields.

use std::collections::BTreeSet;

use serde_json::Value;

use super::view::{Part, View, below};
use super::{FieldPath, SchemaChange, types};

/// How deep fields in fields are followed; 32. It bounds the stack.
const DEPTH: usize = 32;
/// Pairs of parts that are looked at; 10,000. Parts that refer to each other could make more than there is time for.
const STEPS: usize = 10_000;

/// Keywords whose value is a list of schemas for the very value that they stand at.
const SAME_VALUE: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords whose value is a schema for each element of the value that they stand at.
const EACH_ELEMENT: [&str; 2] = ["items", "additionalProperties"];
/// Keywords that are told in words of their own, or that apply nowhere by themselves.
const TOLD: [&str; 5] = ["type", "properties", "required", "$defs", "definitions"];

/// What changed, as far as it can be followed.
pub(super) fn changes(old: &Value, new: &Value) -> Vec<SchemaChange> {
    let mut walk = Walk { old, new, within: Vec::new(), steps: 0, changes: Vec::new() };
    walk.compare(&Part::root(old), &Part::root(new), &FieldPath::default());
    walk.changes
}

struct Walk<'s> {
    old: &'s Value,
    new: &'s Value,
    /// The pairs that this one is a part of. One that comes again is a reference back to itself.
    within: Vec<(*const (), *const ())>,
    steps: usize,
    changes: Vec<SchemaChange>,
}

impl<'s> Walk<'s> {
    fn compare(&mut self, old: &Part<'s>, new: &Part<'s>, field: &FieldPath) {
        let (was, is) = (old.view(self.old), new.view(self.new));
        let pair = (end(old, &was), end(new, &is));
        self.steps += 1;
        if self.steps > STEPS || self.within.len() >= DEPTH || self.within.contains(&pair) {
            return;
        }
        self.within.push(pair);
        let (from, to) = (types::words(old, self.old), types::words(new, self.new));
        let same_type = from == to;
        if !same_type {
            self.changes.push(SchemaChange::Type { field: field.clone(), from, to });
        }
        match (was, is) {
            (Some(was), Some(is)) => {
                if same_type || was.get("properties").is_some() && is.get("properties").is_some() {
                    self.fields(&was, &is, field);
                }
                if same_type {
                    self.rest(&was, &is, field);
                }
            }
            // `true` and `{}` allow the same.
            _ if same_type && old.value != new.value => self.otherwise(Some(old), Some(new)),
            _ => {}
        }
        self.within.pop();
    }

    /// The fields that an object may have, and which of them it must.
    fn fields(&mut self, was: &View<'s>, is: &View<'s>, field: &FieldPath) {
        let (old, new) = (was.get("properties"), is.get("properties"));
        let (must, must_now) = (required(was), required(is));
        let names = names(&old).into_iter().chain(names(&new)).collect::<BTreeSet<_>>();
        for name in &names {
            let part = |properties: &Option<Part<'s>>| properties.as_ref().and_then(|part| part.field(name));
            let here = field.field(name);
            let required = must_now.contains(name);
            match (part(&old), part(&new)) {
                (Some(old), Some(new)) => {
                    if required != must.contains(name) {
                        let change = if required { SchemaChange::FieldRequired } else { SchemaChange::FieldOptional };
                        self.changes.push(change(here.clone()));
                    }
                    self.compare(&old, &new, &here);
                }
                (Some(_), None) => self.changes.push(SchemaChange::FieldLost { field: here, queued: None }),
                (None, Some(_)) => self.changes.push(SchemaChange::FieldAdded { field: here, required }),
                (None, None) => {}
            }
        }
        // What is required and has no schema.
        let plain =
            |required: BTreeSet<&'s str>| -> BTreeSet<&'s str> { required.difference(&names).copied().collect() };
        if plain(must) != plain(must_now) {
            self.otherwise(was.get("required").as_ref(), is.get("required").as_ref());
        }
    }

    /// All other keywords.
    fn rest(&mut self, was: &View<'s>, is: &View<'s>, field: &FieldPath) {
        for key in was.keys().union(&is.keys()).filter(|key| !TOLD.contains(key)) {
            match (was.get(key), is.get(key)) {
                (Some(old), Some(new)) if EACH_ELEMENT.contains(key) => self.compare(&old, &new, &field.each()),
                (Some(old), Some(new)) if SAME_VALUE.contains(key) && length(&old) == length(&new) => {
                    for index in 0..length(&old).unwrap_or_default() {
                        if let (Some(old), Some(new)) = (old.element(index), new.element(index)) {
                            self.compare(&old, &new, field);
                        }
                    }
                }
                (old, new) if old.as_ref().map(|part| part.value) != new.as_ref().map(|part| part.value) => {
                    self.otherwise(old.as_ref(), new.as_ref());
                }
                _ => {}
            }
        }
    }

    fn otherwise(&mut self, old: Option<&Part<'s>>, new: Option<&Part<'s>>) {
        let pointer = match (old, new) {
            (Some(old), Some(new)) => first_difference(old.value, new.value, new.pointer.clone()),
            (old, new) => new.or(old).map(|part| part.pointer.clone()).unwrap_or_default(),
        };
        // The same part can apply at several places.
        let change = SchemaChange::Otherwise { pointer };
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }
}

/// Where a part's references end: what it is a part of again, if that comes back to itself.
fn end(part: &Part<'_>, view: &Option<View<'_>>) -> *const () {
    view.as_ref()
        .and_then(View::end)
        .map_or(std::ptr::from_ref(part.value).cast(), |map| std::ptr::from_ref(map).cast())
}

fn names<'s>(properties: &Option<Part<'s>>) -> Vec<&'s str> {
    let fields = properties.as_ref().and_then(|part| part.value.as_object());
    fields.into_iter().flat_map(|fields| fields.keys().map(String::as_str)).collect()
}

fn required<'s>(view: &View<'s>) -> BTreeSet<&'s str> {
    let names = view.get("required").and_then(|part| part.value.as_array());
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn length(part: &Part<'_>) -> Option<usize> {
    part.value.as_array().map(Vec::len)
}

/// A JSON pointer to the first place where two values differ.
pub(super) fn first_difference(old: &Value, new: &Value, pointer: String) -> String {
    match (old, new) {
        (Value::Object(was), Value::Object(is)) => {
            let keys: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
            let Some(key) = keys.into_iter().find(|key| was.get(*key) != is.get(*key)) else { return pointer };
            let pointer = below(&pointer, key);
            match (was.get(key), is.get(key)) {
                (Some(old), Some(new)) => first_difference(old, new, pointer),
                _ => pointer,
            }
        }
        (Value::Array(was), Value::Array(is)) if was.len() == is.len() => {
            let differing = was.iter().zip(is).enumerate().find(|(_, (old, new))| old != new);
            match differing {
                Some((index, (old, new))) => first_difference(old, new, format!("{pointer}/{index}")),
                None => pointer,
            }
        }
        _ => pointer,
    }
}
