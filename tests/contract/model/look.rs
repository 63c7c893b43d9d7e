//! Looking at items, deeds and counts.

use std::collections::BTreeMap;

use workhost_queue::{AuditPage, Count, Filter, ItemId, Status, WorkItem};

use super::steps::{KINDS, Look, SCOPES};
use super::world::World;

impl World {
    pub(super) async fn look(&self, host: usize, look: &Look) {
        let queue = &self.hosts[host];
        let known: Vec<ItemId> = self.rows.keys().copied().chain([ItemId(self.largest.0 + 1)]).collect();
        let item = look.item.as_ref().map(|index| *index.get(&known));
        let filter = Filter {
            statuses: Status::ALL
                .into_iter()
                .zip(look.statuses)
                .filter(|(_, on)| *on)
                .map(|(status, _)| status)
                .collect(),
            kind: look.kind.map(|kind| KINDS[kind].to_owned()),
            scope: look.scope.map(|scope| SCOPES[scope].to_owned()),
            before: look.before.as_ref().map(|index| *index.get(&known)),
            limit: look.limit,
        };
        let listed = queue.list(&filter).await.unwrap();
        assert_eq!(format!("{listed:?}"), format!("{:?}", self.listed(&filter)), "{filter:?}");

        let mut counts = queue.counts().await.unwrap();
        counts.sort_by(|a, b| (&a.kind, a.status.as_str()).cmp(&(&b.kind, b.status.as_str())));
        assert_eq!(counts, self.counts());

        if let Some(id) = item {
            assert_eq!(format!("{:?}", queue.get(id).await.unwrap()), format!("{:?}", self.rows.get(&id)));
        }
        let deeds = &self.reference.records.deeds;
        let before =
            look.before.as_ref().and_then(|index| deeds.get(index.index(deeds.len().max(1)))).map(|deed| deed.id);
        let page = AuditPage { item, before, limit: look.limit };
        let matching = deeds.iter().rev().filter(|deed| before.is_none_or(|before| deed.id < before));
        let matching = matching.filter(|deed| item.is_none() || deed.item == item).take(limit(look.limit));
        assert_eq!(queue.audit_log(&page).await.unwrap(), matching.cloned().collect::<Vec<_>>(), "{page:?}");
    }

    /// What a list should answer, from the rows as they were compared with the reference.
    fn listed(&self, filter: &Filter) -> Vec<&WorkItem> {
        let newest_first = self.rows.values().rev();
        newest_first
            .filter(|item| filter.statuses.is_empty() || filter.statuses.contains(&item.status))
            .filter(|item| filter.kind.as_ref().is_none_or(|kind| *kind == item.kind))
            .filter(|item| filter.scope.is_none() || filter.scope == item.scope)
            .filter(|item| filter.before.is_none_or(|before| item.id < before))
            .take(limit(filter.limit))
            .collect()
    }

    fn counts(&self) -> Vec<Count> {
        let mut counts = BTreeMap::new();
        for item in self.rows.values() {
            let (_, count) = counts.entry((&item.kind, item.status.as_str())).or_insert((item.status, 0));
            *count += 1;
        }
        counts.into_iter().map(|((kind, _), (status, count))| Count { kind: kind.clone(), status, count }).collect()
    }
}

/// How long a page is.
fn limit(asked: u32) -> usize {
    if asked == 0 { 50 } else { asked as usize }
}
