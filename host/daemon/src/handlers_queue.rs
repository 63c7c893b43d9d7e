//! What handlers do to the queue by their capabilities, carried out by the queue's verbs.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use workhost_queue::{Fence, ItemId, Json, NewItem, Queue, QueueError};
use workhost_runtime::{Enqueued, NewItem as HandlersItem, WorkQueue, WorkQueueError};

use crate::registry::ItemRules;

/// The most items that one call deletes: a transaction that stays short on a busy store.
const BATCH: u32 = 1000;

/// The queue as the handlers of one registry reach it: as long as their attempt holds its item, and under the same rules
/// as everybody else.
pub(crate) struct HandlersQueue {
    queue: Arc<dyn Queue>,
    /// What items of the registry's kinds must be. Known once its handlers are.
    rules: OnceLock<Arc<ItemRules>>,
}

impl HandlersQueue {
    pub(crate) fn new(queue: Arc<dyn Queue>) -> HandlersQueue {
        HandlersQueue { queue, rules: OnceLock::new() }
    }

    /// What is enqueued is checked by these rules from now on.
    pub(crate) fn keep_to(&self, rules: ItemRules) {
        // Only the registry's own load does this, once.
        let _ = self.rules.set(Arc::new(rules));
    }
}

#[async_trait]
impl WorkQueue for HandlersQueue {
    async fn enqueue(&self, id: u64, attempt: u32, items: Vec<HandlersItem>) -> Result<Vec<Enqueued>, WorkQueueError> {
        let parent = fence(id, attempt)?;
        let rules = self.rules.get().cloned().unwrap_or_default();
        // A schema is a handler's, and can make a check last.
        let checking = tokio::task::spawn_blocking(move || check(&rules, items));
        let items = checking.await.map_err(|error| WorkQueueError::Invalid(error.to_string()))?;
        let items = items.map_err(WorkQueueError::Invalid)?;
        let answers = self.queue.enqueue_by(parent, &items).await.map_err(told)?.ok_or(WorkQueueError::Lost)?;
        let id = |id: ItemId| id.0.cast_unsigned();
        Ok(answers
            .into_iter()
            .map(|answer| match answer {
                workhost_queue::Enqueued::Created(new) => Enqueued::Created(id(new)),
                workhost_queue::Enqueued::Existing(old) => Enqueued::Existing(id(old)),
            })
            .collect())
    }

    async fn delete_finished(&self, id: u64, attempt: u32, older_than_days: u32) -> Result<u64, WorkQueueError> {
        let older_than = Duration::from_secs(u64::from(older_than_days) * 24 * 60 * 60);
        let deleted = self.queue.delete_finished(Some(fence(id, attempt)?), older_than, BATCH).await;
        deleted.map_err(told)?.ok_or(WorkQueueError::Lost)
    }
}

fn fence(id: u64, attempt: u32) -> Result<Fence, WorkQueueError> {
    let id = i64::try_from(id).map_err(|_| WorkQueueError::Invalid(format!("{id} is no item id")))?;
    Ok(Fence { id: ItemId(id), attempt })
}

fn told(error: QueueError) -> WorkQueueError {
    match error {
        QueueError::Invalid { .. } => WorkQueueError::Invalid(error.to_string()),
        QueueError::Unavailable { .. } | QueueError::Unusable { .. } | QueueError::Held { .. } => {
            WorkQueueError::Unavailable(error.to_string())
        }
    }
}

/// The items as the queue takes them; or which one is wrong, and why. Blocks while schemas are checked.
fn check(rules: &ItemRules, items: Vec<HandlersItem>) -> Result<Vec<NewItem>, String> {
    let mut steps = 0u64;
    let mut checked = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let wrong = |reason: String| format!("item {}: {reason}", index + 1);
        let HandlersItem { kind, payload, dedup_key, scope, delay, priority } = item;
        let payload = Json::parse(payload).map_err(|error| wrong(format!("payload: {error}")))?;
        // A kind that this registry does not declare is another host's to check, when it claims the item.
        if let Some(rule) = rules.get(&kind) {
            rule.check(scope.as_deref(), &payload.to_value(), &mut steps).map_err(wrong)?;
        }
        checked.push(NewItem { kind, payload, dedup_key, scope, delay, priority });
    }
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::config::ScopeRule;
    use crate::registry::{ItemRule, PayloadSchema};

    fn rules() -> ItemRules {
        let schema = PayloadSchema::compile(&json!({ "type": "object", "required": ["to"] })).unwrap();
        BTreeMap::from([("mail".to_owned(), Arc::new(ItemRule { scope: ScopeRule::Required, schema }))])
    }

    fn item(kind: &str, scope: Option<&str>, payload: &str) -> HandlersItem {
        HandlersItem {
            kind: kind.into(),
            payload: payload.into(),
            dedup_key: None,
            scope: scope.map(str::to_owned),
            delay: Duration::from_secs(1),
            priority: 2,
        }
    }

    #[test]
    fn an_item_that_its_kind_would_refuse_is_refused_before_it_is_enqueued() {
        let fine = || item("mail", Some("a"), r#"{"to":1}"#);
        for (wrong, words) in [
            (item("mail", None, r#"{"to":1}"#), "item 2: its kind requires a scope"),
            (item("mail", Some("a"), "{}"), "item 2: payload: "),
            (item("mail", Some("a"), "{"), "item 2: payload: "),
            (item("other", None, "\"\\u0000\""), "item 2: payload: "),
        ] {
            let error = check(&rules(), vec![fine(), wrong]).unwrap_err();
            assert!(error.starts_with(words), "{error}");
        }
        let checked = check(&rules(), vec![fine(), item("another-hosts", None, "7")]).unwrap();
        assert_eq!((checked[0].priority, checked[0].delay), (2, Duration::from_secs(1)));
    }

    #[test]
    fn a_call_that_would_take_too_long_to_check_is_refused() {
        let parts: Vec<_> = (0..2000).map(|n| json!({ "not": { "const": n } })).collect();
        let schema = PayloadSchema::compile(&json!({ "items": { "allOf": parts } })).unwrap();
        let rule = Arc::new(ItemRule { scope: ScopeRule::Optional, schema });
        let rules = BTreeMap::from([("many".to_owned(), rule)]);
        let payload = json!(vec![-1; 1000]).to_string();
        let items = |n| vec![item("many", None, &payload); n];
        assert!(check(&rules, items(1)).is_ok());
        let error = check(&rules, items(100)).unwrap_err();
        assert!(error.contains("fewer at a time"), "{error}");
    }
}
