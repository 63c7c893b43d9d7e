//! What an item of a kind must be.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::PayloadSchema;
use super::schema::STEPS;
use crate::config::ScopeRule;

/// The rules of a registry, by kind.
pub type ItemRules = BTreeMap<String, Arc<ItemRule>>;

/// What an item of one kind must be.
pub struct ItemRule {
    /// Whether it has a scope.
    pub scope: ScopeRule,
    /// What its payload must match.
    pub schema: PayloadSchema,
}

impl ItemRule {
    /// Checks an item. `steps` counts what the checks of one call cost together.
    ///
    /// # Errors
    /// Why it is none of this kind, for people; without anything of its payload.
    pub fn check(&self, scope: Option<&str>, payload: &Value, steps: &mut u64) -> Result<(), String> {
        if self.scope == ScopeRule::Required && scope.is_none() {
            return Err("its kind requires a scope, and it has none".into());
        }
        *steps = steps.saturating_add(self.schema.steps(payload));
        if *steps > STEPS {
            return Err("its payload, or all of them together, take too long to check: make it smaller, or send fewer at a time".into());
        }
        self.schema.check(payload)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_may_cost_as_many_steps_as_there_are_and_no_more() {
        let rule = ItemRule { scope: ScopeRule::Optional, schema: PayloadSchema::compile(&json!(true)).unwrap() };
        let payload = json!({ "to": "you" });
        let left = STEPS - rule.schema.steps(&payload);
        assert_eq!(rule.check(None, &payload, &mut left.clone()), Ok(()));
        assert!(rule.check(None, &payload, &mut (left + 1)).unwrap_err().contains("too long to check"));
    }
}
