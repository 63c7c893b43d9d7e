//! Hosts that serve some scopes only.

use std::time::Instant;

use workhost_queue::NewItem;

use crate::harness::*;

/// So many items for each of the scopes, in turn with as many without one.
async fn add(w: &Workshop, scopes: &[&str], each: usize) -> usize {
    let mut items = Vec::new();
    for _ in 0..each {
        for scope in scopes {
            items.push(steps(2, 5));
            items.push(NewItem { scope: Some((*scope).to_owned()), ..steps(2, 5) });
        }
    }
    w.add(&items).await.len()
}

#[tokio::test]
async fn two_hosts_with_disjoint_scopes_never_take_each_others_items_and_share_those_without() {
    let w = Workshop::new(Store::Postgres).await;
    let journal = w.journal_kind("");
    for (host, scopes) in [("left", r#"["l0", "l1", "l2"]"#), ("right", r#"["r0", "r1", "r2"]"#)] {
        w.configure_host(host, &format!("{}scopes = {scopes}\n", worker(host)), &journal);
    }
    let left = w.launch(Launch { host: "left", ..Launch::default() });
    let right = w.launch(Launch { host: "right", ..Launch::default() });
    let mut all = add(&w, &["l0", "r0", "l1", "r1", "l2", "r2"], 25).await;
    // A scope that nobody serves: its items wait, and hold up nothing.
    w.add(&[NewItem { scope: Some("nobodys".to_owned()), ..steps(1, 1) }]).await;
    let shared =
        "select count(distinct split_part(host, '/', 1)) from work_items where scope is null and host is not null";
    let start = Instant::now();
    while w.count(shared).await < 2 {
        assert!(start.elapsed() < PATIENCE, "one of the hosts takes no item without a scope\n{}", w.logs());
        all += add(&w, &["l0", "r0"], 5).await;
    }
    w.until_count("select count(*) from work_items where status = 'succeeded'", i64::try_from(all).unwrap()).await;
    for (scope, host) in [("l", "left"), ("r", "right")] {
        let own = format!("select count(*) from work_items where scope like '{scope}_' and host like '{host}/%'");
        let others =
            format!("select count(*) from work_items where scope like '{scope}_' and host not like '{host}/%'");
        assert!(w.count(&own).await >= 75);
        assert_eq!(w.count(&others).await, 0, "{host}'s scopes were served by the other host");
    }
    assert_eq!(w.count("select count(*) from work_items where scope = 'nobodys' and attempt = 0").await, 1);
    assert_eq!(w.count("select count(*) from work_items where stalls + failures > 0").await, 0);
    w.journals_must_be_one_at_a_time();
    left.stop();
    right.stop();
}
