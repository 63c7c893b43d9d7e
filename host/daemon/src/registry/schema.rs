//! A kind's payload type, as a JSON Schema.

use serde_json::Value;

mod cost;

use jsonschema::PatternOptions;
use workhost_runtime::harmless_line;

/// A compiled JSON Schema (draft 2020-12 unless it says otherwise). It never fetches another document, and what a check
/// costs has a bound.
pub struct PayloadSchema {
    validator: jsonschema::Validator,
    /// Its parts, written out.
    parts: u64,
}

/// Steps of a check at most; 20 million, a few seconds. A megabyte of numbers has 500,000 values, and a schema for them a
/// handful of parts.
pub(super) const STEPS: u64 = 20_000_000;

/// Bytes of one violation. It may repeat a key of the payload.
const VIOLATION_BYTES: usize = 500;

/// How many violations are told at once; a hostile payload could have thousands.
const MAX_VIOLATIONS: usize = 5;

impl PayloadSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// Why it is none.
    pub fn compile(schema: &Value) -> Result<PayloadSchema, String> {
        let parts = cost::parts(schema)?;
        // An engine without backtracking: its time grows with the text alone.
        let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
        let validator = options.build(schema).map_err(|error| harmless_line(&error.to_string(), VIOLATION_BYTES))?;
        Ok(PayloadSchema { validator, parts })
    }

    /// How many steps a check of this payload takes at most.
    pub(super) fn steps(&self, payload: &Value) -> u64 {
        values(payload).saturating_mul(self.parts)
    }

    /// Checks a payload.
    ///
    /// # Errors
    /// The fields that do not match and why, without any of the payload's values: the text may be logged.
    pub fn check(&self, payload: &Value) -> Result<(), String> {
        if self.steps(payload) > STEPS {
            let values = values(payload);
            return Err(format!("payload: {values} values are too many for a schema of {} parts", self.parts));
        }
        let violations: Vec<String> = self
            .validator
            .iter_errors(payload)
            .take(MAX_VIOLATIONS)
            .map(|error| match error.instance_path().as_str() {
                "" => format!("payload: {}", error.masked()),
                path => format!("payload{}: {}", path.replace('/', "."), error.masked()),
            })
            .map(|violation| harmless_line(&violation, VIOLATION_BYTES))
            .collect();
        if violations.is_empty() { Ok(()) } else { Err(violations.join("; ")) }
    }
}

/// How many values a document holds, itself and fields included.
fn values(document: &Value) -> u64 {
    match document {
        Value::Array(all) => all.iter().map(values).fold(1, u64::saturating_add),
        Value::Object(fields) => fields.values().map(values).fold(1, u64::saturating_add),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_violation_names_the_field_and_keeps_the_value_secret() {
        let schema = PayloadSchema::compile(&json!({
            "type": "object",
            "properties": { "user": { "type": "object", "properties": { "age": { "type": "integer" } } } },
        }))
        .unwrap();
        let error = schema.check(&json!({ "user": { "age": "secret" } })).unwrap_err();
        assert!(error.contains("payload.user.age") && error.contains("integer"), "{error}");
        assert!(!error.contains("secret"), "{error}");
        assert_eq!(schema.check(&json!({ "user": { "age": 3 } })), Ok(()));
    }

    #[test]
    fn a_payload_with_more_values_than_can_be_checked_is_refused() {
        let parts: Vec<_> = (0..2000).map(|n| json!({ "not": { "const": n } })).collect();
        let schema = PayloadSchema::compile(&json!({ "items": { "allOf": parts } })).unwrap();
        assert_eq!(schema.check(&json!(vec![-1; 100])), Ok(()));
        assert!(schema.check(&json!(vec![-1; 5000])).unwrap_err().contains("5001 values are too many"));
    }

    #[test]
    fn a_payload_with_just_as_many_values_as_can_be_checked_is_taken() {
        // 10,000 parts, none of which is for this payload.
        let schema = json!({ "properties": { "x": { "allOf": vec![true; 9998] } } });
        let schema = PayloadSchema::compile(&schema).unwrap();
        let payload = |fields: u32| {
            let fields: serde_json::Map<String, Value> = (0..fields).map(|n| (n.to_string(), json!(n))).collect();
            json!({ "y": fields })
        };
        assert_eq!(schema.check(&payload(1998)), Ok(()));
        let told = schema.check(&payload(1999)).unwrap_err();
        assert_eq!(told, "payload: 2001 values are too many for a schema of 10000 parts");
    }

    #[test]
    fn a_violation_cannot_speak_to_a_terminal() {
        let schema = PayloadSchema::compile(&json!({ "additionalProperties": false })).unwrap();
        let error = schema.check(&json!({ "\u{1b}[31m\n::error::x\u{202e}": 1 })).unwrap_err();
        assert!(!error.contains(['\u{1b}', '\n', '\u{202e}']), "{error:?}");
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        assert!(PayloadSchema::compile(&json!({ "type": "nonsense" })).is_err());
        assert!(PayloadSchema::compile(&json!({ "$ref": "https://example.com/other.json" })).is_err());
    }
}
