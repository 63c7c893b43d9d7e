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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(schema: Value) -> String {
        words(&Part::root(&schema), &schema)
    }

    #[test]
    fn a_type_within_types_is_told_to_a_depth_and_no_further() {
        let lists =
            |depth| (0..depth).fold(json!({ "type": "string" }), |of, _| json!({ "type": "array", "items": of }));
        assert_eq!(told(lists(3)), "list of list of list of string");
        assert_eq!(told(lists(5)), "list of list of list of list");
        let options = |depth| (0..depth).fold(json!({ "type": "string" }), |of, _| json!({ "anyOf": [of] }));
        assert_eq!((told(options(3)), told(options(4))), ("string".into(), "anything".into()));
    }

    #[test]
    fn of_many_alternatives_the_first_are_told() {
        let types = ["null", "boolean", "object", "array", "number", "string", "integer"];
        let six = "null or boolean or object or list or number or string";
        let parts = |types: &[&str]| types.iter().map(|word| json!({ "type": word })).collect::<Vec<_>>();
        for (most, all) in [
            (json!({ "type": types[..6] }), json!({ "type": types })),
            (json!({ "oneOf": parts(&types[..6]) }), json!({ "oneOf": parts(&types) })),
        ] {
            assert_eq!((told(most), told(all)), (six.into(), format!("{six} or other")));
        }
    }

    #[test]
    fn values_that_alone_are_allowed_are_told_by_their_types() {
        let values = json!({ "enum": [null, true, 1.5, "a", [1], { "b": 1 }, null] });
        assert_eq!(told(values), "null or boolean or number or string or list or object");
        assert_eq!(told(json!({ "const": 1 })), "integer");
    }
}
