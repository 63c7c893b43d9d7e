use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

/// What is said of the change from one schema to another.
fn said(old: &Value, new: &Value) -> Vec<String> {
    changes(old, new).iter().map(ToString::to_string).collect()
}

/// A schema of an object with these fields.
fn object(fields: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": fields, "required": required })
}

#[test]
fn a_change_of_a_field_is_told_as_what_it_is_for_whoever_makes_payloads() {
    let string = || json!({ "type": "string" });
    let cases = [
        (object(json!({ "to": string() }), &["to"]), object(json!({}), &[]), "lost the field `to`"),
        (object(json!({}), &[]), object(json!({ "cc": string() }), &[]), "has the new field `cc`"),
        (object(json!({}), &[]), object(json!({ "cc": true }), &["cc"]), "has the new field `cc`, which is required"),
        (object(json!({ "to": true }), &[]), object(json!({ "to": true }), &["to"]), "now requires the field `to`"),
        (
            object(json!({ "to": true }), &["to"]),
            object(json!({ "to": true }), &[]),
            "no longer requires the field `to`",
        ),
        (
            object(json!({ "to": string() }), &[]),
            object(json!({ "to": { "type": ["string", "null"] } }), &[]),
            "has `to` as string or null; it was string",
        ),
        (
            object(json!({ "to": { "type": "array", "items": string() } }), &[]),
            object(json!({ "to": { "type": "array", "items": { "type": "integer" } } }), &[]),
            "has `to` as list of integer; it was list of string",
        ),
        (object(json!({ "to": true }), &[]), json!({ "type": "null" }), "is now null; it was object"),
        (object(json!({ "to": true }), &[]), json!({ "type": "object" }), "lost the field `to`"),
        (json!(true), json!(false), "is now nothing; it was anything"),
        (
            object(json!({ "to": { "type": "string", "pattern": "a" } }), &[]),
            object(json!({ "to": { "type": "string", "pattern": "b" } }), &[]),
            "changed otherwise: at /properties/to/pattern",
        ),
        (
            object(json!({ "a/b~": { "minimum": 1 } }), &[]),
            object(json!({ "a/b~": {} }), &[]),
            "changed otherwise: at /properties/a~1b~0/minimum",
        ),
        (object(json!({}), &[]), object(json!({}), &["to"]), "changed otherwise: at /required"),
        (json!({ "const": 1 }), json!({ "const": "a" }), "is now string; it was integer"),
        (json!({ "enum": ["a", "b"] }), json!({ "enum": ["a", "c"] }), "changed otherwise: at /enum/1"),
        (json!({ "enum": ["a"] }), json!({ "enum": ["b", "c"] }), "changed otherwise: at /enum"),
        (
            json!({ "allOf": [{ "minimum": 1 }] }),
            json!({ "allOf": [{ "minimum": 2 }, { "minimum": 1 }] }),
            "changed otherwise: at /allOf",
        ),
        (json!({}), json!({ "additionalProperties": false }), "changed otherwise: at /additionalProperties"),
        (json!(true), json!({}), "changed altogether"),
    ];
    for (old, new, told) in cases {
        assert_eq!(said(&old, &new), [told], "{old} → {new}");
    }
}

#[test]
fn fields_within_fields_are_named_by_their_way_through_references_lists_and_options() {
    let report = |address: Value| {
        let to = json!({ "$ref": "#/$defs/Address", "description": "where it goes" });
        let from = json!({ "anyOf": [{ "$ref": "#/$defs/Address" }, { "type": "null" }] });
        let copies = json!({ "type": "array", "items": { "$ref": "#/$defs/Address" } });
        let mut schema = object(json!({ "to": to, "from": from, "copies": copies }), &["to"]);
        schema["$defs"] = json!({ "Address": address });
        schema
    };
    let old = report(object(json!({ "street": { "type": "string", "minLength": 1 }, "city": true }), &["city"]));
    let new = report(object(json!({ "street": { "type": "string", "minLength": 2 } }), &[]));
    assert_eq!(
        said(&old, &new),
        [
            "lost the field `copies[].city`",
            "lost the field `from.city`",
            "lost the field `to.city`",
            "changed otherwise: at /$defs/Address/properties/street/minLength"
        ]
    );
}

#[test]
fn one_change_does_not_hide_another() {
    let schema = |beside: u32, plain: u32, any: Value| {
        let to = json!({ "$ref": "#/$defs/Number", "minimum": beside });
        let mut schema = object(json!({ "any": any, "cc": { "minimum": plain }, "to": to }), &[]);
        schema["$defs"] = json!({ "Number": {} });
        schema
    };
    assert_eq!(
        said(&schema(1, 1, json!(true)), &schema(2, 2, json!({}))),
        ["any", "cc/minimum", "to/minimum"].map(|at| format!("changed otherwise: at /properties/{at}"))
    );
}

#[test]
fn moving_a_part_into_a_definition_changes_the_text_and_no_field() {
    let plain = object(json!({ "to": object(json!({ "city": true }), &[]) }), &[]);
    let mut defined = object(json!({ "to": { "$ref": "#/$defs/Address" } }), &[]);
    defined["$defs"] = json!({ "Address": object(json!({ "city": true }), &[]) });
    assert_eq!(said(&plain, &defined), ["changed otherwise: at /$defs"]);
}

#[test]
fn what_nothing_refers_to_is_not_overlooked() {
    let schema = |unused: u32| json!({ "$defs": { "Unused": { "minimum": unused } } });
    assert_eq!(said(&schema(1), &schema(2)), ["changed otherwise: at /$defs/Unused/minimum"]);
    assert_eq!(said(&schema(1), &schema(1)), Vec::<String>::new());
}

#[test]
fn a_reference_back_to_itself_and_one_to_nowhere_come_to_an_end() {
    let tree = |leaf: &str| {
        json!({
            "$ref": "#/$defs/Node",
            "$defs": { "Node": object(json!({ "leaf": { "type": leaf }, "children": { "items": { "$ref": "#" } } }), &[]) },
        })
    };
    assert_eq!(said(&tree("string"), &tree("integer")), ["has `leaf` as integer; it was string"]);
    let lost = |of: &str| json!({ "$ref": format!("#/$defs/{of}") });
    assert_eq!(said(&lost("a"), &lost("b")), ["changed otherwise: at /$ref"]);
    assert_eq!(said(&json!({ "$ref": "#" }), &json!({ "$ref": "#", "title": "a" })), ["changed otherwise: at /title"]);
}

#[test]
fn parts_that_apply_each_other_again_and_again_are_not_followed_for_ever() {
    let doubling = |last: &str| {
        let part = |n: usize| {
            object(
                json!({ "a": { "$ref": format!("#/$defs/{}", n + 1) }, "b": { "$ref": format!("#/$defs/{}", n + 1) } }),
                &[],
            )
        };
        let mut parts: serde_json::Map<String, Value> = (0..40).map(|n| (n.to_string(), part(n))).collect();
        parts.insert("40".into(), json!({ "type": last }));
        json!({ "$ref": "#/$defs/0", "$defs": parts })
    };
    let wide = |word: &str| json!({ "anyOf": vec![json!({ "anyOf": vec![json!({ "anyOf": vec![json!({ "type": word }); 100] }); 100] }); 5] });
    let start = Instant::now();
    assert!(!changes(&doubling("string"), &doubling("integer")).is_empty());
    assert!(!changes(&wide("string"), &wide("integer")).is_empty());
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn of_many_changes_the_most_telling_are_told_and_the_rest_counted() {
    let fields = |prefix: &str| -> Value {
        object((0..30).map(|n| (format!("{prefix}{n:02}"), json!(true))).collect::<serde_json::Map<_, _>>().into(), &[])
    };
    let told = said(&fields("a"), &fields("b"));
    assert_eq!(
        (told.len(), told[0].as_str(), told[20].as_str()),
        (21, "lost the field `a00`", "changed in 40 more places")
    );
    // As many as are told leave nothing to count.
    let types = |word: &str, most: usize| -> Value {
        let field = |n: usize| (n.to_string(), json!({ "type": word }));
        object((0..most).map(field).collect::<serde_json::Map<_, _>>().into(), &[])
    };
    assert_eq!(said(&types("string", 20), &types("null", 20)).len(), 20);
    // The payload and its fields are ten thousand parts: all that are looked at.
    for fields in [9_999, 10_000] {
        let told = said(&types("string", fields), &types("null", fields));
        assert_eq!(told.last().map(String::as_str), Some("changed in 9979 more places"), "{fields}");
    }
}

#[test]
fn queued_items_that_have_a_lost_field_are_told_with_it() {
    let told = |queued| SchemaChange::FieldLost { field: FieldPath::default().field("to"), queued }.to_string();
    assert_eq!(told(None), "lost the field `to`");
    assert_eq!(told(Some(0)), "lost the field `to`; no queued item has it");
    assert_eq!(told(Some(1)), "lost the field `to`; 1 queued item has it");
    assert_eq!(told(Some(12)), "lost the field `to`; 12 queued items have it");
}
