//! Queued items that a registry would leave lying, or fail.

use std::collections::BTreeMap;

use workhost_queue::{Filter, ItemId, Queue, Status, WorkItem};

use super::PayloadSchema;
use crate::config::{Config, ScopeRule};
use crate::finding::Finding;

/// Ids that a finding shows.
const EXAMPLES: usize = 5;

/// Why items are stranded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Why {
    NoHandler,
    Scope,
    Payload,
}

/// The stranded items of one kind, for one reason.
#[derive(Debug, Default)]
struct Stranded {
    count: usize,
    examples: Vec<ItemId>,
    /// What its schema says of the first one's payload.
    violation: Option<String>,
}

/// Looks at every queued item.
///
/// # Errors
/// When the store does not answer.
pub async fn stranded<'s>(
    config: &Config,
    queue: &dyn Queue,
    schema: impl Fn(&str) -> Option<&'s PayloadSchema>,
) -> workhost_queue::Result<Vec<Finding>> {
    let mut stranded: BTreeMap<(String, Why), Stranded> = BTreeMap::new();
    let mut filter = Filter { statuses: vec![Status::Queued], limit: u32::MAX, ..Filter::default() };
    loop {
        let page = queue.list(&filter).await?;
        let Some(last) = page.last() else { break };
        filter.before = Some(last.id);
        for item in &page {
            let Some((why, violation)) = look(config, item, schema(&item.kind)) else { continue };
            let stranded = stranded.entry((item.kind.clone(), why)).or_default();
            stranded.count += 1;
            if stranded.examples.len() < EXAMPLES {
                stranded.examples.push(item.id);
            }
            stranded.violation = stranded.violation.take().or(violation);
        }
    }
    Ok(stranded.into_iter().map(|((kind, why), stranded)| stranded.finding(config, &kind, why)).collect())
}

/// Why an item would be stranded, if it would be.
fn look(config: &Config, item: &WorkItem, schema: Option<&PayloadSchema>) -> Option<(Why, Option<String>)> {
    let (Some(schema), Some(settings)) = (schema, config.kinds.get(&item.kind)) else {
        return Some((Why::NoHandler, None));
    };
    if settings.scope == ScopeRule::Required && item.scope.is_none() {
        return Some((Why::Scope, None));
    }
    schema.check(&item.payload.to_value()).err().map(|violation| (Why::Payload, Some(violation)))
}

impl Stranded {
    fn finding(&self, config: &Config, kind: &str, why: Why) -> Finding {
        let n = self.count;
        let items = if n == 1 { "1 queued item".to_owned() } else { format!("{n} queued items") };
        let ids: Vec<String> = self.examples.iter().map(ToString::to_string).collect();
        let more = if n > ids.len() { ", …" } else { "" };
        let ids = format!("id {}{more}", ids.join(", "));
        let (code, problem, mend) = match why {
            Why::NoHandler => (
                "queued-without-handler",
                format!(
                    "{items} of kind `{kind}` would lie where they are: no handler of this registry runs it ({ids})"
                ),
                "keep the kind and its handler until they are done, or cancel them",
            ),
            Why::Scope => (
                "queued-without-scope",
                format!("{items} of kind `{kind}` would fail: they have no scope, and the kind requires one ({ids})"),
                "let them be done before the kind requires a scope, or cancel them",
            ),
            Why::Payload => (
                "queued-payload-refused",
                format!(
                    "{items} of kind `{kind}` would fail: the handler's schema refuses their payload ({ids}: {})",
                    self.violation.as_deref().unwrap_or_default()
                ),
                "let the schema take the old payloads too until they are done, or cancel them",
            ),
        };
        config.source.finding(code, &["kinds", kind], problem, Some(mend.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use workhost_queue::{ConnectOptions, Json, NewItem, connect};

    use super::*;

    #[tokio::test]
    async fn only_what_is_queued_is_stranded() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("queue.db").display());
        let queue = connect(&url, ConnectOptions::default()).await.unwrap();
        queue.migrate().await.unwrap();
        let item = NewItem::new("a", Json::parse("{}").unwrap());
        let ids = queue.enqueue(&[item.clone(), item]).await.unwrap();
        queue.cancel(ids[0].id()).await.unwrap();
        let config: Config = toml::from_str("").unwrap();
        let found = stranded(&config, &*queue, |_| None).await.unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].problem.starts_with("1 queued item of kind `a`"), "{}", found[0]);
    }
}
