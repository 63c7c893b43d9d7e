//! When a periodic kind runs again.

use std::time::Duration;

use time::OffsetDateTime;

use crate::{Cron, Json, NewItem};

/// When a periodic kind runs again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// This long after it finished; at once if it never ran.
    Every(Duration),
    /// At the first slot after its last run was created; if it never ran, after the schedule was first seen.
    Cron(Cron),
}

impl Schedule {
    /// The interval, if it is one.
    pub(crate) fn interval(&self) -> Option<Duration> {
        match self {
            Schedule::Every(interval) => Some(*interval),
            Schedule::Cron(_) => None,
        }
    }
}

/// What a store knows of a schedule that nothing holds back (no item of its is queued or running, none finished within
/// the interval, nothing is paused), or of a cron schedule that it did not see before.
#[derive(Debug)]
pub(crate) struct History {
    /// The database's clock.
    pub(crate) now: OffsetDateTime,
    /// When a cron schedule was first seen, if it was.
    pub(crate) first_seen: Option<OffsetDateTime>,
    /// When the newest item under a cron schedule's key was created, whoever enqueued it and however it ended.
    pub(crate) last_created: Option<OffsetDateTime>,
}

/// What is to be done about a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    Wait,
    /// Record that it was seen: its slots count from now on.
    FirstSeen,
    /// Enqueue one item, however many slots have passed.
    Due,
}

impl Schedule {
    /// Decides it. A slot is due from its own instant on.
    pub(crate) fn judge(&self, history: &History) -> Verdict {
        let (cron, first_seen) = match (self, history.first_seen) {
            (Schedule::Every(_), _) => return Verdict::Due,
            (Schedule::Cron(_), None) => return Verdict::FirstSeen,
            (Schedule::Cron(cron), Some(first_seen)) => (cron, first_seen),
        };
        let since = history.last_created.map_or(first_seen, |last| last.max(first_seen));
        match cron.next_after(since) {
            Some(slot) if slot <= history.now => Verdict::Due,
            _ => Verdict::Wait,
        }
    }
}

/// A kind that runs again by a schedule.
#[derive(Clone, Debug)]
pub struct Periodic {
    /// The work kind.
    pub kind: String,
    /// The scope of its items, where the kind requires one. Each scope is a schedule of its own.
    pub scope: Option<String>,
    /// The payload of its items.
    pub payload: Json,
    /// When it runs again.
    pub schedule: Schedule,
}

impl Periodic {
    /// The dedup key of this schedule's items: the kind's name, and its scope where there is one.
    pub fn key(&self) -> String {
        match &self.scope {
            None => self.kind.clone(),
            Some(scope) => format!("{}/{}", self.kind, scope),
        }
    }

    /// The item of one run.
    pub(crate) fn item(&self) -> NewItem {
        NewItem {
            dedup_key: Some(self.key()),
            scope: self.scope.clone(),
            ..NewItem::new(self.kind.clone(), self.payload.clone())
        }
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    fn daily(first_seen: Option<OffsetDateTime>, last_created: Option<OffsetDateTime>, now: OffsetDateTime) -> Verdict {
        let cron = Cron::parse("30 3 * * *", None).unwrap();
        Schedule::Cron(cron).judge(&History { now, first_seen, last_created })
    }

    #[test]
    fn a_slot_is_due_from_its_own_instant_on() {
        let last = Some(datetime!(2026-05-01 3:30:00.2 UTC));
        let seen = Some(datetime!(2026-01-01 0:00 UTC));
        assert_eq!(daily(seen, last, datetime!(2026-05-02 3:29:59.999 UTC)), Verdict::Wait);
        assert_eq!(daily(seen, last, datetime!(2026-05-02 3:30 UTC)), Verdict::Due);
    }

    #[test]
    fn a_run_created_exactly_at_its_slot_is_the_run_of_that_slot() {
        let slot = datetime!(2026-05-01 3:30 UTC);
        assert_eq!(daily(Some(datetime!(2026-01-01 0:00 UTC)), Some(slot), slot), Verdict::Wait);
    }

    #[test]
    fn slots_before_the_schedule_was_first_seen_do_not_count() {
        let seen = datetime!(2026-05-02 12:00 UTC);
        let last = datetime!(2026-04-01 0:00 UTC);
        assert_eq!(daily(None, Some(last), seen), Verdict::FirstSeen);
        for last in [None, Some(last)] {
            assert_eq!(daily(Some(seen), last, datetime!(2026-05-03 3:29 UTC)), Verdict::Wait);
            assert_eq!(daily(Some(seen), last, datetime!(2026-05-03 3:30 UTC)), Verdict::Due);
        }
    }
}
