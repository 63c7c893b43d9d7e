//! A kind's payload type, as a JSON Schema.

use serde_json::Value;

/// A compiled JSON Schema (draft 2020-12 unless it says otherwise). It never fetches another document.
pub struct PayloadSchema(jsonschema::Validator);

/// How many violations are told at once; a hostile payload could have thousands.
const MAX_VIOLATIONS: usize = 5;

impl PayloadSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// Why it is none.
    pub fn compile(schema: &Value) -> Result<PayloadSchema, String> {
        jsonschema::validator_for(schema).map(PayloadSchema).map_err(|error| error.to_string())
    }

    /// Checks a payload.
    ///
    /// # Errors
    /// The fields that do not match and why, without any of the payload's values: the text may be logged.
    pub fn check(&self, payload: &Value) -> Result<(), String> {
        let violations: Vec<String> = self
            .0
            .iter_errors(payload)
            .take(MAX_VIOLATIONS)
            .map(|error| match error.instance_path().as_str() {
                "" => format!("payload: {}", error.masked()),
                path => format!("payload{}: {}", path.replace('/', "."), error.masked()),
            })
            .collect();
        if violations.is_empty() { Ok(()) } else { Err(violations.join("; ")) }
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
    fn what_is_no_schema_is_refused() {
        assert!(PayloadSchema::compile(&json!({ "type": "nonsense" })).is_err());
        assert!(PayloadSchema::compile(&json!({ "$ref": "https://example.com/other.json" })).is_err());
    }
}
