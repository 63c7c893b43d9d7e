//! The type of a value, in words for a person.

use serde_json::Value;

use super::super::difference::name;
use super::view::Part;

/// How deep types in types are told; 3: a list of lists, either of which may be null.
const DEPTH: usize = 3;
/// Alternatives that are told; 6. More are nothing that a person compares.
const ALTERNATIVES: usize = 6;

/// `string`, `list of integer or null`, `anything`.
pub(super) fn words(part: &Part<'_>, root: &Value) -> String {
    within(part, root, DEPTH)
}

fn within(part: &Part<'_>, root: &Value, depth: usize) -> String {
    let Some(view) = part.view(root) else {
        return if part.value == &Value::Bool(false) { "nothing".into() } else { "anything".into() };
    };
    let element = || match view.get("items") {
        Some(items) if depth > 0 => format!("list of {}", within(&items, root, depth - 1)),
        _ => "list".to_owned(),
    };
    let word = |word: &str| if word == "array" { element() } else { name(word) };
    let words = match view.get("type").map(|part| part.value) {
        Some(Value::String(one)) => vec![word(one)],
        Some(Value::Array(several)) => {
            several.iter().filter_map(Value::as_str).take(ALTERNATIVES + 1).map(word).collect()
        }
        _ => match ["anyOf", "oneOf"].iter().find_map(|key| view.get(key)) {
            Some(alternatives) if depth > 0 => {
                let parts = (0..).map_while(|index| alternatives.element(index));
                parts.take(ALTERNATIVES + 1).map(|part| within(&part, root, depth - 1)).collect()
            }
            _ => values(view.get("const").as_ref(), view.get("enum").as_ref()),
        },
    };
    alternatives(words)
}

/// The types of the values that alone are allowed.
fn values(constant: Option<&Part<'_>>, several: Option<&Part<'_>>) -> Vec<String> {
    let several = several.and_then(|part| part.value.as_array()).into_iter().flatten();
    let values = constant.map(|part| part.value).into_iter().chain(several);
    values.map(|value| type_of(value).to_owned()).collect()
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

/// Each once, in their order.
fn alternatives(words: Vec<String>) -> String {
    let mut each: Vec<String> = Vec::new();
    for word in words {
        if !each.contains(&word) {
            each.push(word);
        }
    }
    if each.len() > ALTERNATIVES {
        each.truncate(ALTERNATIVES);
        each.push("other".into());
    }
    if each.is_empty() { "anything".into() } else { each.join(" or ") }
}
