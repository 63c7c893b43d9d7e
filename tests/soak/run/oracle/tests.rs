//! The oracle itself: a made-up story in which all holds, and one change after another by which something does not.

mod story;

use workhost_queue::{CancelAnswer, Status};

use super::judge;
use crate::run::book::{Cancel, What};
use crate::run::diary::parse;
use story::{Story, at};

pub(in crate::run) use story::made_up;

fn rules(story: &Story) -> Vec<&'static str> {
    let diary = story.diary.iter().map(|line| Ok(parse(line).unwrap()));
    let verdict = judge(&story.pages, &story.kept, diary).unwrap();
    verdict.violations.iter().map(|violation| violation.rule).collect()
}

/// Changes the story, and expects this to be found; nothing else but what follows from it.
#[track_caller]
fn breaks(rule: &str, change: impl FnOnce(&mut Story)) {
    let mut story = Story::sound();
    change(&mut story);
    let found = rules(&story);
    assert!(found.contains(&rule), "found: {found:?}");
}

#[track_caller]
fn holds(change: impl FnOnce(&mut Story)) {
    let mut story = Story::sound();
    change(&mut story);
    assert_eq!(rules(&story), [""; 0]);
}

#[test]
fn a_story_in_which_all_holds_has_no_violation() {
    holds(|_| {});
}

#[test]
fn two_of_one_scope_at_a_time_are_found() {
    const RULE: &str = "one at a time: of a scope, and of a kind with one slot";
    // Item 2 begins before the last effect of item 1.
    breaks(RULE, |story| story.swap("1 2 steady s0 end", "2 1 steady s0 begin"));
    // Two of the kind with one slot on one host; on two hosts they may.
    breaks(RULE, |story| story.swap("5 1 brisk - end", "6 1 brisk - begin"));
    holds(|story| {
        story.swap("5 1 brisk - end", "6 1 brisk - begin");
        story.diary.iter_mut().for_each(|line| *line = line.replace(" 6 1 brisk", " 6 1 brave"));
        story.item(6).item.host = Some("brave/1".to_owned());
    });
}

#[test]
fn an_older_attempt_that_goes_on_is_found() {
    const RULE: &str = "an older attempt does nothing once a newer one has begun";
    breaks(RULE, |story| story.note_after("1 2 steady s0 begin", 20_010, "1 1 brisk s0 step-2"));
    // The process was stopped, not killed: the step that it was amid may show, once.
    let stopped = |story: &mut Story| {
        story.pages.deeds[0].what = What::Stopped;
        (story.pages.deeds[0].from_ms, story.pages.deeds[0].to_ms) = (at(12_000), at(20_005));
        story.note_after("1 2 steady s0 begin", 20_010, "1 1 brisk s0 step-2");
    };
    holds(stopped);
    breaks(RULE, |story| {
        stopped(story);
        story.note_after("1 1 brisk s0 step-2", 20_011, "1 1 brisk s0 step-3");
    });
    // Nor is it that step when it shows much later.
    breaks(RULE, |story| {
        stopped(story);
        story.diary.iter_mut().for_each(|line| *line = line.replace("1020010 1 1", "1023000 1 1"));
    });
    // An attempt that begins when the process goes on was amid nothing.
    breaks(RULE, |story| {
        stopped(story);
        story.diary.retain(|line| !line.contains(" 1 1 brisk"));
        story.note_after("1 2 steady s0 begin", 20_010, "1 1 brisk s0 begin");
    });
}

#[test]
fn an_attempt_that_begins_twice_or_goes_on_after_its_end_is_found() {
    breaks("an attempt begins once, and first", |story| {
        story.note_after("3 1 steady - begin", 30_001, "3 1 steady - begin")
    });
    breaks("an attempt does nothing after its last step", |story| {
        story.note_after("3 1 steady - stopped", 30_050, "3 1 steady - step-9");
    });
    breaks("nothing is done once the item is recorded as ended", |story| {
        story.diary.push(format!("{} 5 1 brisk - step-9", at(90_000)));
    });
}

#[test]
fn an_item_that_is_not_there_or_that_nobody_enqueued_is_found() {
    breaks("every item is accounted for", |story| story.kept.retain(|kept| kept.item.id.0 != 2));
    let nobodys = |story: &mut Story| story.pages.enqueued.retain(|enqueued| enqueued.id != 2);
    breaks("every item is accounted for", nobodys);
    // Unless an answer was lost.
    holds(|story| {
        nobodys(story);
        story.pages.unanswered = 1;
    });
    breaks("each item is created once", |story| {
        let twice = story.pages.enqueued[0].clone();
        story.pages.enqueued.push(twice);
    });
    breaks("an item stays what it was enqueued as", |story| story.item(2).item.kind = "diary".to_owned());
    breaks("what ran is known to the store", |story| story.item(1).item.attempt = 1);
}

#[test]
fn an_item_that_is_not_finished_is_found() {
    for status in [Status::Queued, Status::Running] {
        breaks("every item is finished at the end", |story| story.item(2).item.status = status);
    }
}

#[test]
fn a_success_of_another_attempt_than_the_recorded_one_is_found() {
    const RULE: &str = "what succeeded was done by the attempt that is recorded, once";
    breaks(RULE, |story| story.diary.retain(|line| !line.ends_with("2 1 steady s0 end")));
    breaks(RULE, |story| story.item(1).item.result = Some(serde_json::json!({ "attempt": 1 }).into()));
    breaks(RULE, |story| story.note_after("2 1 steady s0 end", 21_001, "2 1 steady s0 end"));
}

#[test]
fn a_cancel_that_is_lost_is_found() {
    const RULE: &str = "no cancel is lost";
    breaks(RULE, |story| story.item(3).item.status = Status::Succeeded);
    breaks(RULE, |story| story.item(3).item.cancel_requested_at = None);
    // It was claimed again afterwards.
    breaks(RULE, |story| story.item(3).item.started_at = Some(story::time(31_000)));
    for answer in [CancelAnswer::Cancelled, CancelAnswer::Requested, CancelAnswer::Unknown] {
        let cancel = Cancel { id: 2, answer, answered_ms: at(22_000) };
        breaks(RULE, |story| story.pages.cancels.push(cancel));
    }
    holds(|story| {
        story.pages.cancels.push(Cancel { id: 2, answer: CancelAnswer::Finished, answered_ms: at(22_000) });
    });
    breaks("what is cancelled was called off, or superseded", |story| {
        story.pages.cancels.clear();
        story.item(3).item.cancel_requested_at = None;
    });
}

#[test]
fn numbers_that_do_not_add_up_are_found() {
    const RULE: &str = "stalls, failures and interruptions add up with the attempts";
    breaks(RULE, |story| story.item(1).item.stalls = 0);
    breaks(RULE, |story| story.item(4).item.failures = 2);
    breaks(RULE, |story| story.item(2).item.interruptions = 1);
    breaks(RULE, |story| story.item(1).attempts.clear());
    breaks(RULE, |story| story.item(2).item.attempt = 2);
}

#[test]
fn an_end_that_nothing_explains_is_found() {
    const RULE: &str = "an attempt ends by what was done to it or asked of it";
    // A stall of a host that nothing was done to.
    breaks(RULE, |story| story.pages.deeds.clear());
    breaks(RULE, |story| story.pages.deeds[0].host = Some("brave".to_owned()));
    breaks(RULE, |story| story.pages.deeds[0].what = What::Terminated);
    breaks(RULE, |story| story.item(4).attempts[0].error = Some("connection refused".to_owned()));
    breaks(RULE, |story| story.item(1).attempts[0].outcome = "released".to_owned());
    breaks(RULE, |story| story.item(1).attempts[0].outcome = "vanished".to_owned());
    breaks("an item is tried as often as its kind says", |story| {
        story.item(4).item.payload = serde_json::json!({ "message": "as its payload says" }).into();
    });
    breaks("a failed item failed in its last attempt", |story| {
        story.item(4).attempts[0].outcome = "retry".to_owned();
    });
    breaks("an item fails as stalled at its last stall", |story| {
        let item = &mut story.item(1).item;
        (item.status, item.reason) = (Status::Failed, Some("stalled".to_owned()));
    });
    breaks("an item fails as stalled at its last stall", |story| story.item(1).item.stalls = 3);
    breaks("nothing runs before it is due", |story| story.item(2).item.run_at = story::time(22_000));
    breaks("an attempt runs on the host that holds it", |story| story.item(1).attempts[0].host = "steady/1".to_owned());
    breaks("an attempt that failed had begun", |story| {
        let item = story.item(3);
        item.attempts[0].outcome = "failed".to_owned();
        story.diary.retain(|line| !line.contains(" 3 1 steady"));
    });
}

#[test]
fn memory_that_grows_is_found_and_threads_and_files() {
    const RULE: &str = "memory, threads and files stay flat";
    breaks(RULE, |story| story.pages.footprints.last_mut().unwrap().resident_mib = 300);
    breaks(RULE, |story| story.pages.footprints.last_mut().unwrap().threads = 100);
    breaks(RULE, |story| story.pages.footprints.last_mut().unwrap().files = 200);
    // No host that lived long enough in a long soak.
    breaks(RULE, |story| {
        story.pages.footprints.iter_mut().zip(0..).for_each(|(footprint, pid)| footprint.pid = pid);
    });
}
