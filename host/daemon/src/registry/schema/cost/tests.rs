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
