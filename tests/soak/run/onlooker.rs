//! Somebody who follows every change of the store: what may never happen is seen when it does.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use workhost_queue::{Changes, Status, WorkItem};

use super::Scene;
use super::oracle::Violation;

/// What was seen of each item.
#[derive(Default)]
pub(super) struct Seen(HashMap<i64, Sight>);

struct Sight {
    status: Status,
    attempt: u32,
    cancel_requested: bool,
    updated_at: time::OffsetDateTime,
}

/// Follows until it is dropped.
pub(super) async fn follow(scene: Arc<Scene>) {
    let (mut seen, mut cursor) = (Seen::default(), None);
    loop {
        match scene.queue.changes_since(cursor, 500).await {
            Ok(Changes::Items { items, cursor: next }) => {
                let amiss: Vec<_> = items.iter().filter_map(|item| seen.note(item)).collect();
                scene.book.write(|pages| pages.amiss.extend(amiss));
                cursor = Some(next);
                if items.len() == 500 {
                    continue;
                }
            }
            Ok(Changes::Resync { cursor: next }) => cursor = Some(next),
            // It goes on from where it was.
            Err(_) => {}
        }
        count(&scene).await;
        sleep(Duration::from_millis(500)).await;
    }
}

/// Notes how much there is, for those who show it and for clients who would bury the hosts.
async fn count(scene: &Scene) {
    let Ok(counts) = scene.queue.counts().await else { return };
    scene.book.write(|pages| {
        (pages.open, pages.finished) = Default::default();
        for count in counts {
            if count.status.is_finished() {
                pages.finished += count.count;
            } else {
                *pages.open.entry(count.kind).or_default() += count.count;
            }
        }
    });
}

impl Seen {
    /// Takes in a change, and tells what of it may not be.
    pub(super) fn note(&mut self, item: &WorkItem) -> Option<Violation> {
        let now = Sight {
            status: item.status,
            attempt: item.attempt,
            cancel_requested: item.cancel_requested_at.is_some(),
            updated_at: item.updated_at,
        };
        let rule = match self.0.get(&item.id.0) {
            Some(before) if before.status.is_finished() && before.updated_at != now.updated_at => {
                Some("a finished item never changes again")
            }
            Some(before) if now.attempt < before.attempt => Some("attempts are numbered upwards"),
            Some(before) if before.cancel_requested && now.attempt > before.attempt => {
                Some("an item whose cancel was requested is never claimed again")
            }
            _ if now.cancel_requested && now.status == Status::Queued => {
                Some("an item whose cancel was requested is never queued again")
            }
            _ => None,
        };
        let violation = rule.map(|rule| {
            let was = self.0.get(&item.id.0).map(|before| format!(", was {} {}", before.status, before.attempt));
            let said = format!("now {} {}{}", now.status, now.attempt, was.unwrap_or_default());
            Violation { rule, item: Some(item.id.0), said }
        });
        self.0.insert(item.id.0, now);
        violation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::oracle::made_up;

    fn found(before: impl FnOnce(&mut WorkItem), after: impl FnOnce(&mut WorkItem)) -> Option<&'static str> {
        let mut seen = Seen::default();
        let mut item = made_up(1, "echo", Status::Running);
        before(&mut item);
        assert!(seen.note(&item).is_none());
        after(&mut item);
        item.updated_at += time::Duration::SECOND;
        seen.note(&item).map(|violation| violation.rule)
    }

    fn asked(item: &mut WorkItem) {
        item.cancel_requested_at = Some(item.updated_at);
    }

    #[test]
    fn what_a_running_item_may_become_is_no_news() {
        assert_eq!(found(|_| {}, |item| item.status = Status::Queued), None);
        assert_eq!(found(|_| {}, |item| item.attempt = 2), None);
        assert_eq!(found(|_| {}, asked), None);
        assert_eq!(found(asked, |item| item.status = Status::Cancelled), None);
    }

    #[test]
    fn what_no_item_may_become_is_found() {
        let finished = |item: &mut WorkItem| item.status = Status::Succeeded;
        assert_eq!(found(finished, |_| {}), Some("a finished item never changes again"));
        assert_eq!(found(finished, |item| item.status = Status::Queued), Some("a finished item never changes again"));
        assert_eq!(found(|item| item.attempt = 2, |item| item.attempt = 1), Some("attempts are numbered upwards"));
        let queued = Some("an item whose cancel was requested is never queued again");
        assert_eq!(found(asked, |item| item.status = Status::Queued), queued);
        let claimed = Some("an item whose cancel was requested is never claimed again");
        assert_eq!(found(asked, |item| item.attempt = 2), claimed);
    }
}
