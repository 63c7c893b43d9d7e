//! The loops around the attempts: each waits for the store by itself, and begins again alone.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_loop_whose_store_hangs_holds_up_no_other() {
    let verbs =
        [("claim", "claim ", 1), ("heartbeat", "beat", 4), ("recover_expired", "sweep", 5), ("finish", "finish", 1)];
    for (hangs, _, _) in verbs {
        let timeline = Timeline::new().with("work", "slots = 1", Guest::done(seconds(9)));
        timeline.store.has("work", 2);
        timeline.at(millis(1), move |store| store.always(hangs, Answer::Never));
        let diary = timeline.run_for(seconds(29)).await;
        for (verb, line, times) in verbs {
            assert!(only(&diary, &[line]).len() >= times, "{hangs} hangs, {verb}: {diary:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_verb_is_red_from_its_first_failure_until_it_works_again() {
    for (verb, part) in [
        ("claim", "claims"),
        ("heartbeat", "heartbeats"),
        ("recover_expired", "sweep"),
        ("host_seen", "sweep"),
        ("finish", "outcomes"),
    ] {
        for trouble in [Answer::Refused, Answer::Never, Answer::Lost, Answer::Breaks] {
            let timeline = Timeline::of(Guest::done(seconds(11)));
            timeline.at(millis(100), move |store| store.always(verb, trouble));
            timeline.at(seconds(18), move |store| store.always(verb, store::PROMPT));
            let readiness = timeline.readiness.clone();
            let reds = async {
                sleep(seconds(17)).await;
                let red = readiness.reds();
                sleep(seconds(10)).await;
                (red, readiness.reds())
            };
            let (_, (red, after)) = tokio::join!(timeline.run_for(seconds(28)), reds);
            assert!(red.contains_key(part), "{verb} {trouble:?}: {red:?}");
            assert!(after.is_empty(), "{verb} {trouble:?}: {after:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn work_goes_on_within_ten_seconds_after_the_store_is_back() {
    for trouble in [Answer::Refused, Answer::Never, Answer::Lost, Answer::Swallowed, Answer::Breaks] {
        let mut timeline = Timeline::new().with("work", "", Guest::done(millis(1)));
        // Nobody wakes it, and nobody polls.
        timeline.settings.poll_interval = seconds(3600);
        timeline.at(millis(10), move |store| {
            for verb in ["claim", "claimed", "heartbeat", "finish", "recover_expired", "host_seen"] {
                store.always(verb, trouble);
            }
            store.due("work", 3);
        });
        timeline.at(seconds(100), |store| {
            for verb in ["claim", "claimed", "heartbeat", "finish", "recover_expired", "host_seen"] {
                store.always(verb, store::PROMPT);
            }
        });
        let diary = timeline.run_for(seconds(110)).await;
        let done = (1..=3).all(|id| timeline.store.item(id).status == workhost_queue::Status::Succeeded);
        assert!(done, "{trouble:?}: {diary:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_breaks_begins_again_and_what_it_was_to_do_is_done() {
    let timeline = Timeline::of(Guest::done(millis(2500)));
    timeline.store.plan("claim", [Answer::Breaks]);
    timeline.store.plan("recover_expired", [Answer::Breaks]);
    timeline.store.plan("heartbeat", [Answer::Breaks]);
    timeline.store.plan("finish", [Answer::Breaks]);
    let diary = timeline.run_for(seconds(7)).await;
    assert_eq!(
        only(&diary, &["begins", "sweep", "beat", "finish"]),
        [
            "0 sweep",
            "1000 sweep",
            "1000 begins 1",
            "2000 beat 1",
            "3000 beat 1",
            "3500 finish 1 succeeded",
            "4500 finish 1 succeeded",
            "6000 sweep",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_sweep_puts_back_into_the_queue_is_claimed_at_once() {
    use workhost_queue::Status;
    for (becomes, claimed) in [(Status::Queued, true), (Status::Failed, false)] {
        let timeline = Timeline::new().with("work", "", Guest::Deaf);
        timeline.store.has("work", 1);
        timeline.store.expire(1, Status::Running);
        timeline.at(millis(7001), |store| store.due("work", 1));
        timeline.at(millis(9000), move |store| store.expire(1, becomes));
        let diary = timeline.run_for(seconds(11)).await;
        assert_eq!(diary.iter().any(|line| line.starts_with("10000 claim ")), claimed, "{becomes}: {diary:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn schedules_are_looked_at_with_each_sweep_where_there_are_any() {
    let timeline = Timeline::new().with("clean", "every = \"1h\"", Guest::Deaf).with("work", "", Guest::Deaf);
    let diary = timeline.run_for(seconds(6)).await;
    assert_eq!(only(&diary, &["schedules"]), ["0 schedules 1", "5000 schedules 1"]);
    let timeline = Timeline::new().with("work", "", Guest::Deaf);
    assert!(only(&timeline.run_for(seconds(6)).await, &["schedules"]).is_empty());
}

#[tokio::test]
async fn a_handler_that_broke_in_the_moment_of_its_end_has_failed() {
    use super::super::attempt::end;
    let broke = tokio::spawn(async { panic!("so it was planned") });
    while !broke.is_finished() {
        tokio::task::yield_now().await;
    }
    let ended = end(&workhost_runtime::Control::new(), broke).await;
    assert!(matches!(ended, workhost_runtime::Ended::Failed { permanent: false, .. }), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn a_host_whose_heartbeats_are_not_answered_claims_nothing_until_they_are() {
    let timeline = Timeline::of(Guest::Deaf);
    timeline.store.always("heartbeat", Answer::Refused);
    timeline.at(seconds(10), |store| store.due("work", 1));
    timeline.at(seconds(61), |store| store.always("heartbeat", store::PROMPT));
    let diary = timeline.run_for(seconds(63)).await;
    assert_eq!(only(&diary, &["begins", "gone"]), ["0 begins 1", "30000 gone 1", "62000 begins 2"]);
    assert!(timeline.readiness.reds().is_empty());
}

#[tokio::test(start_paused = true)]
async fn heartbeats_of_a_host_that_runs_nothing_are_no_proof_that_the_store_can_write() {
    let timeline = Timeline::of(Guest::Deaf);
    timeline.store.plan("heartbeat", vec![Answer::Refused; 15]);
    timeline.at(seconds(1), |store| store.always("host_seen", Answer::Refused));
    let readiness = timeline.readiness.clone();
    let reds = async {
        sleep(seconds(59)).await;
        readiness.reds()
    };
    let (_, red) = tokio::join!(timeline.run_for(seconds(60)), reds);
    assert!(red.contains_key("heartbeats") && red.contains_key("sweep"), "{red:?}");
}

#[tokio::test(start_paused = true)]
async fn claims_stay_red_while_nothing_is_claimed_for_want_of_heartbeats() {
    let timeline = Timeline::of(Guest::Deaf);
    for (verb, from) in [("claim", 1), ("heartbeat", 7)] {
        timeline.at(seconds(from), move |store| store.always(verb, Answer::Refused));
    }
    let readiness = timeline.readiness.clone();
    let reds = async {
        // Longer than lost claims are asked for.
        sleep(seconds(299)).await;
        readiness.reds()
    };
    let (_, red) = tokio::join!(timeline.run_for(seconds(300)), reds);
    assert!(red.contains_key("claims") && red.contains_key("heartbeats"), "{red:?}");
}
