//! Recording how attempts ended.

use workhost_queue::Status;
use workhost_runtime::Ended;

use super::*;

#[tokio::test(start_paused = true)]
async fn an_outcome_is_written_again_until_it_is_answered_and_heartbeats_go_on_meanwhile() {
    let timeline = Timeline::of(Guest::done(millis(500)));
    timeline.store.plan("finish", [Answer::Refused, Answer::Never, Answer::Refused]);
    let diary = timeline.run_for(seconds(9)).await;
    assert_eq!(
        only(&diary, &["finish", "beat"]),
        [
            "500 finish 1 succeeded",
            "700 finish 1 succeeded",
            "2000 beat 1",
            "4000 beat 1",
            // It had five seconds to be answered.
            "5900 finish 1 succeeded",
            "6000 beat 1",
            "6100 finish 1 succeeded",
        ]
    );
    assert_eq!(timeline.store.item(1).status, Status::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn an_outcome_whose_answer_was_lost_is_recorded_once_whatever_heartbeats_say_meanwhile() {
    for lost in [Answer::Lost, Answer::Swallowed] {
        let timeline = Timeline::of(Guest::done(millis(1900)));
        timeline.store.plan("finish", [lost, Answer::Refused]);
        timeline.store.always("finish", Answer::After(millis(300)));
        timeline.at(seconds(9), |store| store.due("work", 1));
        let diary = timeline.run_for(millis(9500)).await;
        let finishes = only(&diary, &["finish"]);
        assert_eq!(finishes.len(), 3, "{lost:?}: {finishes:?}");
        // Its slot is free again.
        assert!(diary.contains(&"9000 claim work*4".to_owned()), "{lost:?}: {diary:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_cannot_be_recorded_within_half_a_lease_is_given_up() {
    let timeline = Timeline::of(Guest::done(millis(500)));
    timeline.store.always("finish", Answer::Refused);
    timeline.store.always("heartbeat", Answer::Refused);
    let diary = timeline.run_for(seconds(100)).await;
    let last = only(&diary, &["finish"]).pop().unwrap().to_owned();
    assert_eq!(last, "29900 finish 1 succeeded");
}

#[tokio::test(start_paused = true)]
async fn a_statement_that_hangs_holds_up_no_other_outcome() {
    let timeline = Timeline::of(Guest::done(millis(500)));
    timeline.at(millis(900), |store| store.due("work", 3));
    timeline.store.plan("finish", [Answer::Never]);
    let diary = timeline.run_for(seconds(4)).await;
    assert_eq!(
        sorted(only(&diary, &["finish"])),
        [
            "500 finish 1 succeeded",
            // They wait for company while another is under way, and travel together.
            "1405 finish 2 succeeded",
            "1405 finish 3 succeeded",
            "1405 finish 4 succeeded",
        ]
    );
    assert!([2, 3, 4].iter().all(|id| timeline.store.item(*id).status == Status::Succeeded));
}

#[tokio::test(start_paused = true)]
async fn an_item_whose_row_is_locked_delays_no_other_outcome() {
    let timeline = Timeline::new().with("work", "", Guest::done(millis(500)));
    timeline.store.has("work", 2);
    timeline.store.lock(1, true);
    timeline.at(seconds(1), |store| store.lock(1, false));
    let diary = timeline.run_for(seconds(2)).await;
    assert_eq!(
        sorted(only(&diary, &["finish"])),
        [
            "500 finish 1 succeeded",
            "500 finish 2 succeeded",
            "700 finish 1 succeeded",
            "900 finish 1 succeeded",
            "1100 finish 1 succeeded",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn outcomes_travel_together_and_large_ones_apart() {
    for (bytes, writes) in [(10, vec!["500 write 4"]), (3 << 20, vec!["500 write 1"; 4])] {
        let result = format!("\"{}\"", "x".repeat(bytes));
        let timeline = Timeline::new().with("work", "", Guest::Ends(millis(500), Ended::Done(Some(result))));
        timeline.store.has("work", 4);
        let diary = timeline.run_for(seconds(1)).await;
        assert_eq!(only(&diary, &["write"]), writes, "{bytes}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_statements_are_under_way_than_there_are_lanes() {
    let mut timeline = Timeline::new().with("work", "", Guest::done(millis(500)));
    timeline.settings.slots = 8;
    timeline.store.always("finish", Answer::Never);
    for second in 0..6 {
        timeline.at(millis(100 * second), |store| store.due("work", 1));
    }
    let diary = timeline.run_for(millis(5400)).await;
    assert_eq!(only(&diary, &["write"]).len(), 4, "{diary:?}");
}

#[tokio::test(start_paused = true)]
async fn many_outcomes_travel_a_hundred_at_a_time() {
    let mut timeline = Timeline::of(Guest::done(millis(500)));
    timeline.settings.slots = 200;
    // While this one is under way the others gather.
    timeline.store.plan("finish", [Answer::Never]);
    timeline.at(millis(100), |store| store.due("work", 150));
    let diary = timeline.run_for(seconds(1)).await;
    assert_eq!(only(&diary, &["write"]), ["500 write 1", "605 write 100", "605 write 50"]);
}

#[tokio::test(start_paused = true)]
async fn outcomes_are_green_again_when_the_store_answers_although_a_row_is_locked() {
    let timeline = Timeline::of(Guest::done(millis(500)));
    timeline.store.lock(1, true);
    timeline.store.plan("finish", [Answer::Refused]);
    let readiness = timeline.readiness.clone();
    let reds = async {
        sleep(millis(600)).await;
        let red = readiness.reds();
        sleep(millis(300)).await;
        (red, readiness.reds())
    };
    let (_, (red, after)) = tokio::join!(timeline.run_for(seconds(1)), reds);
    assert!(red.contains_key("outcomes") && after.is_empty(), "{red:?} {after:?}");
}

#[tokio::test(start_paused = true)]
async fn progress_travels_with_the_next_heartbeat_once_and_what_is_left_with_the_end() {
    let reports =
        Guest::Reports(vec![(millis(500), "1"), (millis(500), "2"), (millis(4500), "3"), (millis(1500), "4")]);
    let timeline = Timeline::of(reports);
    // This one is lost on the way, and its progress travels again.
    timeline.store.plan("heartbeat", [Answer::Refused]);
    let diary = timeline.run_for(seconds(9)).await;
    assert_eq!(
        only(&diary, &["progress", "finish"]),
        [
            "2000 progress 1 2",
            "4000 progress 1 2",
            "6000 progress 1 3",
            "7000 finish 1 succeeded",
            "7000 last progress 1 4"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn progress_that_the_store_has_does_not_travel_with_the_end() {
    let reports = Guest::Reports(vec![(millis(500), "1"), (millis(500), "not json"), (millis(2000), "2")]);
    let timeline = Timeline::of(reports);
    let diary = timeline.run_for(seconds(4)).await;
    assert_eq!(only(&diary, &["progress"]), ["3000 last progress 1 2"]);
    let timeline = Timeline::of(Guest::Reports(vec![(millis(500), "1"), (millis(2000), "not json")]));
    let diary = timeline.run_for(seconds(4)).await;
    assert_eq!(only(&diary, &["progress"]), ["2000 progress 1 1"]);
}
