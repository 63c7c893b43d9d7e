//! A host that stands still while the others work.

use std::time::{Duration, Instant};

use workhost_queue::{ItemId, Status};

use crate::harness::*;

/// Waits until the log of `one` has a warning about this item.
async fn until_it_says_so(w: &Workshop, id: ItemId) {
    let (start, item) = (Instant::now(), format!("item={id} "));
    while !w.log_of("one").lines().any(|line| line.contains(" WARN ") && line.contains(&item)) {
        assert!(start.elapsed() < PATIENCE, "it says nothing of the item it lost\n{}", w.log_of("one"));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_host_that_stood_still_writes_nothing_about_what_another_has_finished_and_goes_on_with_other_work() {
    let w = Workshop::new(Store::Postgres).await;
    let journal = w.journal_kind("");
    for host in ["one", "two"] {
        w.configure_host(host, &worker(host), &journal);
    }
    let one = w.launch(Launch { host: "one", ..Launch::default() });
    // Steps that are longer than it takes to see that the lease is over.
    let id = w.add(&[steps(20, 250)]).await[0];
    w.until(id, "under way", |item| progress(item)["step"].as_u64() > Some(2)).await;
    one.signal("STOP");
    let stopped = Instant::now();

    let two = w.launch(Launch { host: "two", ..Launch::default() });
    let finished = w.until_finished(id).await;
    assert_eq!((finished.status, finished.attempt, finished.stalls), (Status::Succeeded, 2, 1));
    assert!(finished.host.as_deref().unwrap().starts_with("two/"), "{finished:?}");
    two.stop();
    tokio::time::sleep((3 * LEASE).saturating_sub(stopped.elapsed())).await;
    let before = w.journal(&id.to_string());
    one.signal("CONT");
    until_it_says_so(&w, id).await;

    let next = w.add(&[steps(2, 10)]).await[0];
    let next = w.until_finished(next).await;
    assert_eq!((next.status, next.attempt, next.stalls), (Status::Succeeded, 1, 0));
    assert!(next.host.unwrap().starts_with("one/"));
    let after = w.journal(&id.to_string());
    let since: Vec<&JournalStep> = after[before.len()..].iter().collect();
    assert!(since.len() <= 1, "it went on after it had been stopped: {since:?}");
    must_be_one_at_a_time("before it went on", &before);
    let told = serde_json::to_value(w.item(id).await).unwrap();
    assert_eq!(told, serde_json::to_value(&finished).unwrap(), "it wrote about an item that is not its own");
    one.stop();
}
