//! Connections that the server ends, again and again.

use std::time::{Duration, Instant};

use workhost_queue::NewItem;

use crate::harness::*;

/// A lease that outlasts many a lost connection, also where opening one takes its time: what stalls was lost for good.
const WORKER: &str = "poll_interval = \"200ms\"\nheartbeat_interval = \"500ms\"\nlease = \"20s\"\n";

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn work_goes_on_although_all_connections_are_terminated_each_second_for_a_minute() {
    let w = Workshop::new(Store::Postgres).await;
    let journal = w.journal_kind("");
    for host in ["one", "two"] {
        w.configure_host(host, &format!("[worker]\nhost = \"{host}\"\nslots = 8\n{WORKER}"), &journal);
    }
    let daemons = ["one", "two"].map(|host| w.launch(Launch { host, ..Launch::default() }));
    w.add(&vec![endless(50); 6]).await;
    let terminate = format!(
        "select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and application_name <> '{TESTS}'"
    );
    let (start, mut second, mut short) = (Instant::now(), 0, 0);
    while start.elapsed() < MINUTE {
        second += 1;
        tokio::time::sleep(Duration::from_secs(second).saturating_sub(start.elapsed())).await;
        let scope = |n: i32| (n % 2 == 0).then(|| format!("scope-{}", n % 10));
        let items: Vec<_> = (0..20).map(|n| NewItem { scope: scope(n), ..steps(1, 5) }).collect();
        short += w.add(&items).await.len();
        // Now early, now late: in the middle of a claim, of a heartbeat, of an outcome.
        tokio::time::sleep(Duration::from_millis(second * 7 % 100)).await;
        w.execute(&terminate).await;
    }
    w.journal_is_enough();
    let all = i64::try_from(short + 6).unwrap();
    w.until_count("select count(*) from work_items where finished_at is not null", all).await;
    assert_eq!(w.count("select count(*) from work_items where status = 'succeeded'").await, all, "{}", w.logs());
    assert_eq!(w.count("select count(*) from work_items where failures + interruptions > 0").await, 0);
    w.journals_must_be_one_at_a_time();
    assert_eq!(w.count("select sum(stalls) from work_items").await, 0, "a claim was lost\n{}", w.logs());
    daemons.into_iter().for_each(Daemon::stop);
}
