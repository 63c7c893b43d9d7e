//! The reference's ways out of an attempt.

use workhost_queue::{AttemptRecord, Fence, Finish, ItemId, Outcome, Recorded, Status, WorkItem};

use super::reference::Reference;
use super::times::{after, now};

/// What the error of an item that stalled for good is compared as.
pub(super) const STALLED: &str = "stalled";

impl Reference {
    pub(super) fn finish(&mut self, finish: &Finish) -> Recorded {
        let (word, status, result, error) = match &finish.outcome {
            Outcome::Succeeded(result) => ("succeeded", Status::Succeeded, result.clone(), None),
            Outcome::Failed { error } => ("failed", Status::Failed, None, Some(error)),
            Outcome::Cancelled(result) => ("cancelled", Status::Cancelled, result.clone(), None),
            Outcome::Released => ("released", Status::Queued, None, None),
            Outcome::Retry { error, .. } => ("retry", Status::Queued, None, Some(error)),
        };
        let Fence { id, attempt } = finish.fence;
        if !self.holds(finish.fence) {
            let again = self.items.get(&id).is_some_and(|item| item.attempt == attempt)
                && self.ended_as.get(&id) == Some(&word);
            return if again { Recorded::Recorded } else { Recorded::Lost };
        }
        let status = match (self.items[&id].cancel_requested_at, word) {
            (Some(_), "succeeded" | "released") => Status::Cancelled,
            (Some(_), "retry") => Status::Failed,
            _ => status,
        };
        self.items.get_mut(&id).unwrap().log_tail.clone_from(&finish.log_tail);
        let item = self.end(id, status, word, error);
        item.result = result;
        item.error = error.cloned().or(item.error.take());
        item.progress = finish.progress.clone().or(item.progress.take());
        item.failures += u32::from(error.is_some());
        item.interruptions += u32::from(word == "released");
        if let (Status::Queued, Outcome::Retry { delay, .. }) = (item.status, &finish.outcome) {
            item.run_at = after(*delay);
        }
        Recorded::Recorded
    }

    pub(super) fn stall(&mut self, id: ItemId, max_stalls: u32) {
        let stalls = self.items[&id].stalls + 1;
        let status = match self.items[&id].cancel_requested_at {
            Some(_) => Status::Cancelled,
            None if stalls >= max_stalls => Status::Failed,
            None => Status::Queued,
        };
        let item = self.end(id, status, "stalled", None);
        item.stalls = stalls;
        if status == Status::Failed {
            (item.reason, item.error) = (Some("stalled".to_owned()), Some(STALLED.to_owned()));
        }
    }

    /// Ends an attempt. What would be queued beside another of its key is superseded.
    fn end(&mut self, id: ItemId, status: Status, word: &'static str, error: Option<&String>) -> &mut WorkItem {
        self.keep_attempt(id, status, word, error);
        let superseded = status == Status::Queued && self.queued_with_key_of(&self.items[&id]).is_some();
        self.ended_as.insert(id, word);
        let item = self.items.get_mut(&id).unwrap();
        item.status = if superseded { Status::Cancelled } else { status };
        item.reason = if superseded { Some("superseded".to_owned()) } else { item.reason.take() };
        item.lease_expires_at = None;
        item.finished_at = item.status.is_finished().then(now);
        item.updated_at = now();
        item
    }

    fn keep_attempt(&mut self, id: ItemId, status: Status, word: &str, error: Option<&String>) {
        let item = &self.items[&id];
        let record = AttemptRecord {
            attempt: item.attempt,
            host: item.host.clone().unwrap(),
            handler_digest: item.handler_digest.clone(),
            started_at: item.started_at.unwrap(),
            ended_at: now(),
            // Its handler had succeeded, but a cancel was requested.
            outcome: match (word, status) {
                ("succeeded", _) => "cancelled",
                ("retry", Status::Failed) => "failed",
                _ => word,
            }
            .to_owned(),
            error: error.cloned(),
            log_tail: item.log_tail.clone(),
        };
        if status != Status::Succeeded {
            self.attempts.entry(id).or_default().insert(0, record);
        }
    }
}
