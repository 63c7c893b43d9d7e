//! Hosts that are restarted, and hosts of one name.

use workhost_queue::{NewItem, Status};

use crate::harness::*;

on_both_stores! {
    async fn ten_restarts_cost_a_long_item_ten_interruptions_and_nothing_else(w: Workshop) {
        w.configure(&w.journal_kind(""));
        let mut daemon = w.serve();
        let id = w.add(&[endless(20)]).await[0];
        let name = id.to_string();
        for restart in 1..=10 {
            w.until(id, "running again", |item| item.attempt == restart && item.status == Status::Running).await;
            w.until_journal_grows(&name, 5).await;
            daemon.stop();
            let item = w.item(id).await;
            assert_eq!((item.status, item.interruptions), (Status::Queued, restart), "{item:#?}");
            assert_eq!((item.stalls, item.failures), (0, 0), "{item:#?}");
            daemon = w.serve();
        }
        w.journal_is_enough();
        let item = w.until_finished(id).await;
        assert_eq!((item.status, item.attempt), (Status::Succeeded, 11));
        assert_eq!((item.interruptions, item.stalls, item.failures), (10, 0, 0));
        let journal = w.journal(&name);
        must_be_one_at_a_time(&name, &journal);
        let resumed = journal.iter().zip(0..).all(|(step, number)| step.step == number);
        assert!(resumed, "an attempt did not go on where the last one was: {journal:?}");
        daemon.stop();
    }

    async fn a_host_restarted_at_once_takes_its_former_claim_only_when_the_lease_has_run_out(w: Workshop) {
        w.configure(&w.journal_kind(""));
        let daemon = w.serve();
        let id = w.add(&[endless(20)]).await[0];
        w.until_journal_grows(&id.to_string(), 20).await;
        daemon.kill();
        let killed = w.item(id).await;
        assert_eq!((killed.status, killed.attempt), (Status::Running, 1));

        let daemon = w.serve();
        let again = w.until(id, "running again", |item| item.attempt > 1 && item.status == Status::Running).await;
        // Both times are the store's.
        assert!(again.started_at >= killed.lease_expires_at, "{killed:#?}\n{again:#?}");
        assert_eq!((again.attempt, again.stalls), (2, 1));
        let (former, now) = (killed.host.unwrap(), again.host.unwrap());
        assert!(former.starts_with("test-host/") && now.starts_with("test-host/") && former != now);
        w.until_journal_grows(&id.to_string(), 20).await;
        w.journal_is_enough();
        let item = w.until_finished(id).await;
        assert_eq!((item.status, item.attempt, item.stalls, item.failures), (Status::Succeeded, 2, 1, 0));
        w.journals_must_be_one_at_a_time();
        daemon.stop();
    }
}

#[tokio::test]
async fn two_hosts_of_one_name_at_the_same_time_do_each_others_work_no_harm() {
    let w = Workshop::new(Store::Postgres).await;
    let journal = w.journal_kind("");
    for file in ["one", "two"] {
        w.configure_host(file, &worker("twin"), &journal);
    }
    let short = |from: u32| -> Vec<NewItem> {
        let scope = |n: u32| n.is_multiple_of(2).then(|| format!("scope-{}", n % 20));
        (from..from + 100).map(|n| NewItem { scope: scope(n), ..steps(3, 10) }).collect()
    };
    let one = w.launch(Launch { host: "one", ..Launch::default() });
    let long = w.add(&[endless(20), endless(20)]).await;
    for id in &long {
        w.until_journal_grows(&id.to_string(), 5).await;
    }
    w.add(&short(0)).await;
    // It comes while the other one is at work.
    let two = w.launch(Launch { host: "two", ..Launch::default() });
    w.add(&short(100)).await;
    w.until_count("select count(distinct host) from work_items where status = 'succeeded'", 2).await;
    w.until_count("select count(*) from work_items where status = 'succeeded'", 200).await;
    // Each is its own, also when the other goes.
    let more = w.add(&[endless(20), endless(20), endless(20), endless(20)]).await;
    w.until_count("select count(*) from work_items where status = 'running'", 6).await;
    one.stop();
    w.until_count("select count(*) from work_items where status = 'running'", 4).await;
    w.journal_is_enough();
    for id in long.into_iter().chain(more) {
        assert_eq!(w.until_finished(id).await.status, Status::Succeeded);
    }
    assert_eq!(w.count("select count(*) from work_items where stalls + failures > 0").await, 0, "{}", w.logs());
    assert_eq!(w.count("select count(*) from work_items where host not like 'twin/%'").await, 0);
    assert_eq!(w.count("select count(*) from work_items where attempt <> 1 + interruptions").await, 0);
    w.journals_must_be_one_at_a_time();
    two.stop();
}
