//! What clients were told, beside what the store has.

use std::collections::HashSet;

use workhost_queue::{CancelAnswer, Status};

use super::Verdict;
use super::kept::{Items, ms};
use crate::run::book::Pages;
use crate::run::load::kinds::TICK;

pub(super) fn judge(verdict: &mut Verdict, pages: &Pages, kept: &Items<'_>) {
    enqueued(verdict, pages, kept);
    for cancel in &pages.cancels {
        let mut find = |said: String| verdict.find("no cancel is lost", cancel.id, said);
        let answer = cancel.answer;
        let Some(item) = kept.get(&cancel.id).map(|kept| &kept.item) else {
            find(format!("it was answered {answer:?}, and the item is not there"));
            continue;
        };
        // Failed by its handler, which a cancel does not change.
        let failed = item.status == Status::Failed && item.reason.is_none();
        let kept_word = match answer {
            CancelAnswer::Cancelled => item.status == Status::Cancelled,
            CancelAnswer::Requested => item.status == Status::Cancelled || failed,
            CancelAnswer::Finished => item.status.is_finished(),
            CancelAnswer::Unknown => false,
        };
        let asked = matches!(answer, CancelAnswer::Cancelled | CancelAnswer::Requested);
        if !kept_word || (asked && item.cancel_requested_at.is_none()) {
            let (status, reason, at) = (item.status, &item.reason, item.cancel_requested_at);
            find(format!("it was answered {answer:?}; now {status} ({reason:?}), requested {at:?}"));
        }
        if asked && item.started_at.is_some_and(|started| ms(started) > cancel.answered_ms) {
            find(format!("it was claimed at {:?}, after the answer at {}", item.started_at, cancel.answered_ms));
        }
    }
}

/// Each item that clients know is there, and no other than those whose answers were lost.
fn enqueued(verdict: &mut Verdict, pages: &Pages, kept: &Items<'_>) {
    let mut created = HashSet::new();
    for enqueued in &pages.enqueued {
        match kept.get(&enqueued.id).map(|kept| &kept.item) {
            None => verdict.find("every item is accounted for", enqueued.id, "it is not there".into()),
            Some(item) if item.kind != enqueued.kind || (!enqueued.created && item.dedup_key.is_none()) => {
                let said = format!("it was enqueued as {}, and is {} {:?}", enqueued.kind, item.kind, item.dedup_key);
                verdict.find("an item stays what it was enqueued as", enqueued.id, said);
            }
            Some(_) => {}
        }
        if enqueued.created && !created.insert(enqueued.id) {
            verdict.find("each item is created once", enqueued.id, "two clients were told so".into());
        }
    }
    let nobodys: Vec<i64> =
        kept.iter().filter(|(id, kept)| kept.item.kind != TICK && !created.contains(*id)).map(|(id, _)| *id).collect();
    if nobodys.len() as u64 > pages.unanswered {
        let said = format!("{} items that nobody enqueued, such as {:?}", nobodys.len(), nobodys.first());
        verdict.find("every item is accounted for", None, said);
    }
}
