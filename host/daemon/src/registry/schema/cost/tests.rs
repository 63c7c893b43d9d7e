use serde_json::json;

use super::*;

#[test]
fn ordinary_schemas_are_taken_also_recursive_ones() {
    let person =
        json!({ "type": "object", "properties": { "name": { "type": "string" }, "age": { "type": "integer" } } });
    assert_eq!(parts(&person), Ok(3));
    let tree = json!({ "properties": { "children": { "items": { "$ref": "#" } }, "name": {} } });
    assert!(parts(&tree).is_ok());
    let binary = json!({
        "$defs": { "node": { "properties": { "left": { "$ref": "#/$defs/node" }, "right": { "$ref": "#/$defs/node" } } } },
        "$ref": "#/$defs/node",
    });
    assert!(parts(&binary).is_ok());
    let value = json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "$ref": "#" } }] });
    assert!(parts(&value).is_ok());
}

#[test]
fn what_doubles_with_each_step_or_level_is_refused() {
    let doubling = |within: fn(&str) -> Value| {
        let mut parts: Map<String, Value> =
            (0..40).map(|n| (n.to_string(), within(&format!("#/$defs/{}", n + 1)))).collect();
        parts.insert("40".to_owned(), json!({ "type": "object" }));
        json!({ "$defs": parts, "$ref": "#/$defs/0" })
    };
    let same = doubling(|next| json!({ "allOf": [{ "$ref": next }, { "$ref": next }] }));
    let deeper = doubling(|next| json!({ "properties": { "x": { "anyOf": [{ "$ref": next }, { "$ref": next }] } } }));
    for schema in [same, deeper] {
        assert_eq!(parts(&schema), Err("its parts apply each other more than 10000 times".to_owned()));
    }
    let twice = |keyword: Value| json!({ "$defs": { "x": keyword }, "$ref": "#/$defs/x" });
    for recursive in [
        twice(json!({ "properties": { "a": { "allOf": [{ "$ref": "#" }, { "$ref": "#" }] } } })),
        twice(
            json!({ "allOf": [{ "properties": { "a": { "$ref": "#" } } }, { "properties": { "a": { "$ref": "#" } } }] }),
        ),
        twice(json!({ "items": { "$ref": "#" }, "contains": { "$ref": "#" } })),
        twice(json!({ "patternProperties": { "a": { "$ref": "#" }, "b": { "$ref": "#" } } })),
    ] {
        assert!(parts(&recursive).unwrap_err().contains("more than once to one value"), "{recursive}");
    }
}

#[test]
fn what_is_too_large_or_cannot_be_told_is_refused() {
    assert!(parts(&json!({ "description": "x".repeat(70_000) })).unwrap_err().contains("70018 bytes"));
    assert!(parts(&json!({ "$dynamicRef": "#a" })).unwrap_err().contains("$dynamicRef"));
    assert!(parts(&json!({ "$ref": "#nowhere" })).unwrap_err().contains("no path within the schema"));
}

#[test]
fn each_keyword_applies_the_parts_that_it_says() {
    for (schema, count) in [
        (json!({ "enum": [1, 2, 3], "required": ["a"] }), 1),
        (json!({ "not": {} }), 2),
        (json!({ "anyOf": [{}, {}, true] }), 4),
        (json!({ "items": {} }), 2),
        (json!({ "items": [{}, {}] }), 3),
        (json!({ "dependentSchemas": { "a": {}, "b": true } }), 3),
        (json!({ "dependencies": { "a": ["b", "c"], "d": {} } }), 2),
        (json!({ "patternProperties": { "a": {} }, "additionalProperties": false }), 3),
    ] {
        assert_eq!(parts(&schema), Ok(count), "{schema}");
    }
}

#[test]
fn a_field_that_is_named_is_one_of_those_left_over_too() {
    let both = json!({ "properties": { "a": { "$ref": "#" } }, "additionalProperties": { "$ref": "#" } });
    assert!(parts(&both).unwrap_err().contains("more than once to one value"));
}

#[test]
fn what_is_just_as_much_as_its_limit_is_taken() {
    let described = |bytes: usize| json!({ "description": "x".repeat(bytes - 18) });
    assert_eq!(parts(&described(65_536)), Ok(1));
    assert!(parts(&described(65_537)).is_err());
    let all = |parts: usize| json!({ "allOf": vec![true; parts - 1] });
    assert_eq!(parts(&all(10_000)), Ok(10_000));
    assert!(parts(&all(10_001)).is_err());
}

#[test]
fn parts_that_apply_each_other_in_a_row_are_followed_so_far() {
    let row = |length: usize| {
        let mut parts: Map<String, Value> =
            (0..length - 1).map(|n| (n.to_string(), json!({ "$ref": format!("#/$defs/{}", n + 1) }))).collect();
        parts.insert((length - 1).to_string(), json!({ "properties": { "x": { "$ref": "#/$defs/0" } } }));
        json!({ "$defs": parts, "$ref": "#/$defs/0" })
    };
    assert_eq!(parts(&row(198)), Ok(201));
    for length in [199, 200] {
        assert!(parts(&row(length)).unwrap_err().contains("apply each other more than"), "{length}");
    }
    assert!(parts(&row(201)).unwrap_err().contains("it is recursive"));
}
