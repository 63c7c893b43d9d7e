//! The way to a field in a payload.

use serde_json::Value;

/// The way to a field from the payload: `to.address`, `lines[].price`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    /// Each element of a list, or each value of a map.
    Each,
}

impl FieldPath {
    /// The field of this name in what is here.
    pub(super) fn field(&self, name: &str) -> FieldPath {
        self.then(Step::Field(name.to_owned()))
    }

    /// Each element of what is here.
    pub(super) fn each(&self) -> FieldPath {
        self.then(Step::Each)
    }

    fn then(&self, step: Step) -> FieldPath {
        FieldPath(self.0.iter().cloned().chain([step]).collect())
    }

    /// Whether it is the way to the payload itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a payload has it, somewhere where it can be several times.
    pub fn is_in(&self, payload: &Value) -> bool {
        reaches(&self.0, payload)
    }
}

fn reaches(steps: &[Step], value: &Value) -> bool {
    let Some((step, rest)) = steps.split_first() else { return true };
    match (step, value) {
        (Step::Field(name), Value::Object(fields)) => fields.get(name).is_some_and(|value| reaches(rest, value)),
        (Step::Each, Value::Array(elements)) => elements.iter().any(|value| reaches(rest, value)),
        (Step::Each, Value::Object(fields)) => fields.values().any(|value| reaches(rest, value)),
        _ => false,
    }
}

impl std::fmt::Display for FieldPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                Step::Each => write!(f, "[]")?,
                Step::Field(name) if index == 0 => write!(f, "{name}")?,
                Step::Field(name) => write!(f, ".{name}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_payload_has_a_field_where_some_element_has_it() {
        let price = FieldPath::default().field("lines").each().field("price");
        assert_eq!(price.to_string(), "lines[].price");
        assert!(price.is_in(&json!({ "lines": [{}, { "price": null }] })));
        assert!(price.is_in(&json!({ "lines": { "a": { "price": 1 } } })));
        for without in [json!({ "lines": [] }), json!({ "lines": "price" }), json!({ "price": 1 }), json!(null)] {
            assert!(!price.is_in(&without), "{without}");
        }
    }
}
