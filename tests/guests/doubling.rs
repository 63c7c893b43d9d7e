//! Describes a schema whose parts each apply the next one twice: a check of any payload takes very long.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

/// The steps of a check double with each.
const LEVELS: usize = 25;

#[derive(Deserialize)]
struct Doubling {}

impl JsonSchema for Doubling {
    fn schema_name() -> Cow<'static, str> {
        "Doubling".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let next = |level: usize| serde_json::json!({ "$ref": format!("#/$defs/{level}") });
        let part =
            |level: usize| (level.to_string(), serde_json::json!({ "allOf": [next(level + 1), next(level + 1)] }));
        let mut parts: serde_json::Map<_, _> = (0..LEVELS).map(part).collect();
        parts.insert(LEVELS.to_string(), serde_json::json!({ "type": "object" }));
        let mut schema = Schema::default();
        schema.insert("$defs".to_owned(), parts.into());
        schema.insert("$ref".to_owned(), "#/$defs/0".into());
        schema
    }
}

impl Handler for Doubling {
    const KIND: &'static str = "doubling";
    const SUMMARY: &'static str = "Does nothing.";
    type Summary = ();

    fn run(self, _: &Work) -> Result<Ending<()>, Failure> {
        Ok(Ending::Done(()))
    }
}

export_handlers!(Doubling);
