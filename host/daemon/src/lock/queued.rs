//! How many queued items have a field that the registry lost.

use std::collections::BTreeMap;

use workhost_queue::{Filter, Queue, Status};

use super::schema::{FieldPath, SchemaChange};
use super::{Change, Difference};

/// Counts, for each lost field, the queued items that have it. Looks at the items of those kinds alone.
///
/// # Errors
/// When the store does not answer.
pub async fn count_lost_fields(differences: &mut [Difference], queue: &dyn Queue) -> workhost_queue::Result<()> {
    let mut lost: BTreeMap<String, Vec<(&FieldPath, &mut Option<u64>)>> = BTreeMap::new();
    for difference in differences {
        let Change::PayloadChanged { kind, change: SchemaChange::FieldLost { field, queued } } = &mut difference.change
        else {
            continue;
        };
        *queued = Some(0);
        lost.entry(kind.clone()).or_default().push((field, queued));
    }
    for (kind, mut fields) in lost {
        let statuses = vec![Status::Queued];
        let mut filter = Filter { kind: Some(kind), statuses, limit: u32::MAX, ..Filter::default() };
        loop {
            let page = queue.list(&filter).await?;
            let Some(last) = page.last() else { break };
            filter.before = Some(last.id);
            for item in &page {
                let payload = item.payload.to_value();
                for (field, queued) in &mut fields {
                    **queued = queued.map(|count| count + u64::from(field.is_in(&payload)));
                }
            }
        }
    }
    Ok(())
}
