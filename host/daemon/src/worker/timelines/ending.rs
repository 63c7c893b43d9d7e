//! How and when attempts end.

use workhost_queue::Status;
use workhost_runtime::Ended;

use super::store::PROMPT;
use super::*;

#[tokio::test(start_paused = true)]
async fn an_item_is_claimed_run_reported_alive_and_recorded() {
    let timeline = Timeline::of(Guest::done(millis(4500)));
    let diary = timeline.run_for(seconds(9)).await;
    assert_eq!(
        only(&diary, &["claim", "begins", "beat", "gone", "finish"]),
        [
            "0 claim work*4",
            "0 begins 1",
            "2000 beat 1",
            "4000 beat 1",
            "4500 gone 1",
            "4500 finish 1 succeeded",
            "5000 claim work*4"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_attempt_stops_itself_half_a_lease_after_the_sending_of_its_last_answered_heartbeat() {
    for (heartbeats, stopped_at) in [(0, 30_000), (1, 32_000), (3, 36_000)] {
        let timeline = Timeline::of(Guest::Deaf);
        timeline.store.plan("heartbeat", vec![PROMPT; heartbeats]);
        timeline.store.always("heartbeat", Answer::Never);
        let diary = timeline.run_for(seconds(100)).await;
        assert_eq!(only(&diary, &["gone", "finish"]), [format!("{stopped_at} gone 1")]);
        // One that hangs holds up no other.
        let beats = only(&diary, &["beat 1"]);
        assert_eq!(beats.len() as u64, stopped_at / 2000, "{beats:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_counts_from_when_its_heartbeat_was_sent() {
    let timeline = Timeline::of(Guest::Deaf);
    timeline.store.plan("heartbeat", [Answer::After(millis(1999))]);
    timeline.store.always("heartbeat", Answer::Refused);
    let diary = timeline.run_for(seconds(100)).await;
    assert_eq!(only(&diary, &["gone"]), ["32000 gone 1"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_after_an_interval_counts_for_nothing() {
    let timeline = Timeline::of(Guest::Deaf);
    timeline.store.always("heartbeat", Answer::After(millis(2001)));
    let diary = timeline.run_for(seconds(100)).await;
    assert_eq!(only(&diary, &["gone"]), ["30000 gone 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_claim_counts_from_when_it_was_asked_for() {
    let timeline = Timeline::of(Guest::Deaf);
    timeline.store.plan("claim", [Answer::After(seconds(4))]);
    timeline.store.always("heartbeat", Answer::Refused);
    let diary = timeline.run_for(seconds(100)).await;
    assert_eq!(only(&diary, &["begins", "gone"]), ["4000 begins 1", "30000 gone 1"]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_stopped_itself_writes_nothing_even_if_its_handler_ends_in_the_same_moment() {
    for guest in [Guest::done(seconds(30)), Guest::fails(seconds(30))] {
        let timeline = Timeline::of(guest);
        timeline.store.always("heartbeat", Answer::Refused);
        let diary = timeline.run_for(seconds(100)).await;
        assert_eq!(only(&diary, &["gone", "finish"]), ["30000 gone 1"]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_item_whose_row_is_locked_is_not_lost_and_its_attempt_goes_on_when_it_is_free() {
    let timeline = Timeline::of(Guest::done(seconds(50)));
    timeline.store.lock(1, true);
    timeline.at(seconds(29), |store| store.lock(1, false));
    let diary = timeline.run_for(seconds(100)).await;
    assert_eq!(only(&diary, &["gone", "finish"]), ["50000 gone 1", "50000 finish 1 succeeded"]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_attempt_is_ended_at_once_and_writes_nothing() {
    let timeline = Timeline::of(Guest::Deaf);
    timeline.at(millis(4500), |store| store.take_away(1));
    let diary = timeline.run_for(seconds(100)).await;
    assert_eq!(only(&diary, &["taken", "gone", "finish"]), ["4500 taken away 1", "6000 gone 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_attempt_writes_nothing_also_after_a_cancel_request() {
    let timeline = Timeline::of(Guest::Deaf);
    timeline.at(millis(3000), |store| store.cancel(1));
    timeline.at(millis(4500), |store| store.take_away(1));
    let diary = timeline.run_for(seconds(100)).await;
    assert_eq!(only(&diary, &["gone", "finish"]), ["6000 gone 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_handler_is_told_and_heartbeats_go_on_until_it_returns() {
    let timeline = Timeline::of(Guest::stops(seconds(7)));
    timeline.at(millis(3000), |store| store.cancel(1));
    let diary = timeline.run_for(seconds(14)).await;
    assert_eq!(
        only(&diary, &["cancel", "hears", "beat", "gone", "finish"]),
        [
            "2000 beat 1",
            "3000 cancel 1",
            "4000 beat 1",
            "4001 hears 1 CancelRequested",
            "6000 beat 1",
            "8000 beat 1",
            "10000 beat 1",
            "11001 gone 1",
            "11001 finish 1 cancelled, summary: true",
        ]
    );
    assert_eq!(timeline.store.item(1).status, Status::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_handler_that_goes_on_is_ended_after_the_grace() {
    let timeline = Timeline::of(Guest::Deaf);
    timeline.at(millis(3000), |store| store.cancel(1));
    // A repeated request changes nothing.
    timeline.at(millis(7000), |store| store.cancel(1));
    let diary = timeline.run_for(seconds(100)).await;
    assert_eq!(only(&diary, &["gone", "finish"]), ["14000 gone 1", "14000 finish 1 cancelled, summary: false"]);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_returns_in_the_moment_its_grace_is_over_keeps_its_summary() {
    let timeline = Timeline::of(Guest::done(seconds(14)));
    timeline.at(millis(3000), |store| store.cancel(1));
    let diary = timeline.run_for(seconds(100)).await;
    assert_eq!(only(&diary, &["finish"]), ["14000 finish 1 cancelled, summary: true"]);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_told_one_grace_before_and_ends_the_attempt_by_its_name() {
    let tidies = Guest::Tidies(seconds(20), Ended::Stopped(None));
    let timeline = Timeline::new().with("work", "timeout = \"60s\"", tidies);
    timeline.store.has("work", 1);
    let diary = timeline.run_for(seconds(100)).await;
    assert_eq!(
        only(&diary, &["hears", "gone", "finish"]),
        ["50000 hears 1 Deadline", "60000 gone 1", "60000 finish 1 failed: timeout of 1m"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_short_timeout_is_told_when_half_of_it_is_over() {
    let timeline = Timeline::new().with("work", "timeout = \"6s\"", Guest::stops(seconds(1)));
    timeline.store.has("work", 1);
    let diary = timeline.run_for(seconds(20)).await;
    assert_eq!(
        only(&diary, &["hears", "gone", "finish"]),
        ["3000 hears 1 Deadline", "4000 gone 1", "4000 finish 1 failed: timeout of 6s"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_is_done_after_it_was_told_of_its_deadline_has_succeeded() {
    let tidies = Guest::Tidies(seconds(1), Ended::Done(None));
    let timeline = Timeline::new().with("work", "timeout = \"60s\"", tidies);
    timeline.store.has("work", 1);
    let diary = timeline.run_for(seconds(100)).await;
    assert_eq!(only(&diary, &["finish"]), ["51000 finish 1 succeeded"]);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_claims_nothing_more_tells_the_handlers_and_hands_back_what_stops() {
    let timeline = Timeline::of(Guest::stops(seconds(3)));
    timeline.at(millis(1500), |store| store.due("work", 1));
    let diary = timeline.stop_after(millis(2500)).await;
    assert_eq!(
        sorted(only(&diary, &["stop", "claim", "hears", "gone", "finish", "end"])),
        [
            "0 claim work*4",
            "1500 claim work*3",
            "2500 stop",
            "2501 hears 1 Shutdown",
            "2501 hears 2 Shutdown",
            "5501 end",
            "5501 finish 1 released",
            "5501 finish 2 released",
            "5501 gone 1",
            "5501 gone 2",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_what_goes_on_after_the_grace_and_hands_it_back() {
    let timeline = Timeline::of(Guest::Deaf);
    let diary = timeline.stop_after(millis(2500)).await;
    assert_eq!(only(&diary, &["gone", "finish", "end"]), ["12500 gone 1", "12500 finish 1 released", "12500 end"]);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_finishes_during_a_shutdown_is_recorded_as_what_it_did() {
    for (guest, how) in [(Guest::done(seconds(9)), "succeeded"), (Guest::fails(seconds(9)), "failed: no")] {
        let timeline = Timeline::of(guest);
        let diary = timeline.stop_after(millis(2500)).await;
        assert_eq!(only(&diary, &["finish", "end"]), [format!("9000 finish 1 {how}"), "9000 end".to_owned()]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_that_was_requested_before_a_shutdown_stays_a_cancel() {
    let timeline = Timeline::of(Guest::Deaf);
    timeline.at(millis(1000), |store| store.cancel(1));
    let diary = timeline.stop_after(millis(5000)).await;
    // The earlier of both graces ends it.
    assert_eq!(
        only(&diary, &["gone", "finish", "end"]),
        ["12000 gone 1", "12000 finish 1 cancelled, summary: false", "12000 end"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_in_time_whatever_the_store_does() {
    for answer in [Answer::Never, Answer::Refused, Answer::Lost, Answer::Swallowed] {
        let timeline = Timeline::of(Guest::Deaf);
        timeline.at(millis(2400), move |store| {
            for verb in ["claim", "claimed", "heartbeat", "finish", "recover_expired", "enqueue_due", "host_seen"] {
                store.always(verb, answer);
            }
            // A claim is on its way when it is told to stop.
            store.due("work", 1);
        });
        let diary = timeline.stop_after(millis(2500)).await;
        let last = only(&diary, &["end"])[0].to_owned();
        let at: u64 = last.split(' ').next().unwrap().parse().unwrap();
        assert!(at <= 2500 + 10_000 + 4_000, "{answer:?}: {last}");
        assert!(only(&diary, &["gone 1"])[0].starts_with("1"), "{answer:?}: {diary:?}");
    }
}
