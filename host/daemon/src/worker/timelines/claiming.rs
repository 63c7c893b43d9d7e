//! When and what is claimed.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_host_claims_every_poll_interval_and_at_once_when_it_is_woken() {
    let timeline = Timeline::new().with("work", "", Guest::done(seconds(60)));
    timeline.at(millis(7001), |store| store.due("work", 1));
    let diary = timeline.run_for(seconds(13)).await;
    assert_eq!(
        only(&diary, &["claim"]),
        ["0 claim work*4", "5000 claim work*4", "7001 claim work*4", "12001 claim work*3"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_wake_while_a_claim_is_under_way_is_not_lost() {
    let timeline = Timeline::new().with("work", "", Guest::done(seconds(60)));
    timeline.store.plan("claim", [Answer::After(millis(800))]);
    timeline.at(millis(300), |store| store.due("work", 1));
    let diary = timeline.run_for(seconds(4)).await;
    assert_eq!(only(&diary, &["claim", "begins"]), ["0 claim work*4", "800 claim work*4", "800 begins 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_host_claims_only_what_it_can_start() {
    let timeline =
        Timeline::new().with("mail", "slots = 1", Guest::done(seconds(3))).with("work", "", Guest::done(seconds(2)));
    timeline.store.has("mail", 2);
    timeline.store.has("work", 4);
    let diary = timeline.run_for(millis(4900)).await;
    assert_eq!(
        sorted(only(&diary, &["claim", "begins", "finish"])),
        [
            "0 begins 1",
            "0 begins 3",
            "0 begins 4",
            "0 begins 5",
            "0 claim mail*1 work*4",
            "2000 begins 6",
            "2000 claim work*3",
            "2000 finish 3 succeeded",
            "2000 finish 4 succeeded",
            "2000 finish 5 succeeded",
            "3000 begins 2",
            "3000 claim mail*1 work*3",
            "3000 finish 1 succeeded",
            // Nobody waits for this slot.
            "4000 finish 6 succeeded",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_was_lost_is_heard_of_and_run() {
    for (answer, heard) in [(Answer::Lost, "1000"), (Answer::Swallowed, "6000")] {
        let timeline = Timeline::of(Guest::done(seconds(3)));
        timeline.store.plan("claim", [answer]);
        let diary = timeline.run_for(seconds(8)).await;
        assert_eq!(
            only(&diary, &["claimed", "begins", "finish"])[..2],
            [format!("{heard} claimed beyond "), format!("{heard} begins 1")],
            "{answer:?}"
        );
        assert_eq!(timeline.store.item(1).attempt, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_was_lost_is_asked_for_until_its_lease_has_run_out() {
    let timeline = Timeline::new().with("work", "", Guest::Deaf);
    timeline.store.plan("claim", [Answer::Refused]);
    let diary = timeline.run_for(seconds(200)).await;
    let asked = only(&diary, &["claimed beyond"]);
    // Its answer could have taken five seconds, and both the claim and the first answer to this may be lost.
    assert_eq!((asked.first(), asked.last()), (Some(&"1000 claimed beyond "), Some(&"121000 claimed beyond ")));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_was_given_up_is_not_taken_for_a_claim_whose_answer_was_lost() {
    let timeline = Timeline::of(Guest::Deaf);
    timeline.store.lock(1, true);
    // A claim is lost for ever in the moment before the attempt stops itself, so that claims are asked for from then on.
    timeline.at(millis(29_500), |store| store.plan("claim", [Answer::Refused]));
    // However long the store is away: it takes the attempt for running until somebody recovers it.
    timeline.at(seconds(40), |store| store.always("claim", Answer::Refused));
    timeline.at(seconds(400), |store| store.always("claim", store::PROMPT));
    let diary = timeline.run_for(seconds(450)).await;
    assert_eq!(only(&diary, &["begins", "gone"]), ["0 begins 1", "30000 gone 1"]);
    assert!(only(&diary, &["claimed beyond"]).iter().all(|line| line.ends_with(" 1")), "{diary:?}");
    assert!(only(&diary, &["claimed beyond"]).len() > 5, "{diary:?}");
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_heard_of_only_during_a_shutdown_is_handed_back() {
    for answer in [Answer::Swallowed, Answer::Lost] {
        let timeline = Timeline::new().with("work", "", Guest::Deaf);
        timeline.at(millis(2400), move |store| {
            store.plan("claim", [answer]);
            store.due("work", 1);
        });
        let diary = timeline.stop_after(millis(2500)).await;
        assert_eq!(only(&diary, &["begins", "finish"]).len(), 1, "{answer:?}: {diary:?}");
        assert!(only(&diary, &["finish"])[0].ends_with("finish 1 released"), "{answer:?}: {diary:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_claim_takes_while_the_host_is_told_to_stop_is_handed_back_unbegun() {
    let timeline = Timeline::of(Guest::Deaf);
    timeline.store.plan("claim", [Answer::After(millis(900))]);
    let diary = timeline.stop_after(millis(500)).await;
    assert_eq!(only(&diary, &["begins", "finish", "end"]), ["900 finish 1 released", "900 end"]);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_fails_at_once_every_time_does_not_spin_and_harms_no_other() {
    let timeline = Timeline::new().with("mail", "", Guest::fails(millis(1))).with("work", "", Guest::done(millis(1)));
    timeline.store.has("mail", 100);
    timeline.at(seconds(2), |store| store.due("work", 20));
    let diary = timeline.run_for(seconds(64)).await;
    let tried = only(&diary, &["failed"]);
    // Ten in a row, some that ran beside the tenth, and then one after 1, 2, 4, 8, 16 and 30 seconds.
    assert!((16..=20).contains(&tried.len()), "{tried:?}");
    assert_eq!(only(&diary, &["succeeded"]).len(), 20);
    assert!(only(&diary, &["succeeded"]).iter().all(|line| line.starts_with("20")), "the other kind was held up");
}

#[tokio::test(start_paused = true)]
async fn retries_wait_and_are_opted_into() {
    let timeline = Timeline::new().with("mail", "retries = 1", Guest::fails(millis(1)));
    timeline.store.has("mail", 1);
    let diary = timeline.run_for(seconds(1)).await;
    assert_eq!(only(&diary, &["finish"])[0], "1 finish 1 retry");
}

#[tokio::test(start_paused = true)]
async fn items_that_one_more_stall_fails_run_one_at_a_time_beside_others() {
    for (max_stalls, stalls, alone) in [(3, 2, true), (3, 1, false), (2, 1, true), (1, 0, false)] {
        let mut timeline = Timeline::new().with("work", "", Guest::done(seconds(1)));
        timeline.settings.max_stalls = max_stalls;
        timeline.store.has("work", 4);
        for id in [1, 2, 3] {
            timeline.store.stalled(id, stalls);
        }
        let diary = timeline.run_for(millis(4500)).await;
        let begun = sorted(only(&diary, &["begins"]));
        if alone {
            assert_eq!(begun, ["0 begins 1", "0 begins 4", "1000 begins 2", "2000 begins 3"]);
        } else {
            assert_eq!(begun, ["0 begins 1", "0 begins 2", "0 begins 3", "0 begins 4"]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_slot_of_a_kind_that_was_full_is_filled_at_once() {
    let mut timeline = Timeline::new().with("mail", "slots = 1", Guest::done(seconds(1)));
    timeline.settings.slots = 8;
    timeline.store.has("mail", 3);
    let diary = timeline.run_for(millis(3500)).await;
    assert_eq!(sorted(only(&diary, &["begins"])), ["0 begins 1", "1000 begins 2", "2000 begins 3"]);
    assert_eq!(only(&diary, &["claim"]).len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_store_with_a_short_lease_is_asked_again_sooner() {
    let mut timeline = Timeline::of(Guest::Deaf);
    timeline.settings.lease = seconds(10);
    timeline.store.plan("claim", [Answer::Never]);
    let diary = timeline.run_for(seconds(4)).await;
    assert_eq!(only(&diary, &["claim"]), ["0 claim work*4", "3500 claimed beyond ", "3500 claim work*4"]);
}
