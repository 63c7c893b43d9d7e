//! The hosts, as people see them.

use std::time::Duration;

use workhost_queue::{ConnectOptions, HostReport, Limits, QueueError};

use crate::store::contract;

fn report(host: &str, kinds: &[&str], slots: u32) -> HostReport {
    HostReport { host: host.to_owned(), kinds: kinds.iter().map(|&kind| kind.to_owned()).collect(), slots }
}

contract! {
    async fn a_host_is_shown_as_it_last_reported_itself(store) {
        store.queue.host_seen(&report("b", &["a", "ü \"q\""], 3)).await.unwrap();
        store.queue.host_seen(&report("a", &[], 1)).await.unwrap();
        let first = store.queue.hosts().await.unwrap();
        assert_eq!(first.iter().map(|host| (host.host.as_str(), host.slots)).collect::<Vec<_>>(), [("a", 1), ("b", 3)]);
        assert_eq!(first[1].kinds, ["a", "ü \"q\""]);
        tokio::time::sleep(Duration::from_millis(5)).await;
        store.queue.host_seen(&report("b", &["c"], 4)).await.unwrap();
        let again = store.host().await.hosts().await.unwrap();
        assert_eq!((again.len(), again[1].kinds.as_slice(), again[1].slots), (2, ["c".to_owned()].as_slice(), 4));
        assert_eq!(again[1].first_seen_at, first[1].first_seen_at);
        assert!(again[1].last_seen_at > first[1].last_seen_at);
    }

    async fn a_host_that_is_gone_is_forgotten(store) {
        let limits = Limits { hosts_kept: Duration::from_millis(200), ..Limits::default() };
        let queue = store.host_with(ConnectOptions { limits, ..ConnectOptions::default() }).await;
        queue.host_seen(&report("gone", &[], 1)).await.unwrap();
        queue.host_seen(&report("here", &[], 1)).await.unwrap();
        assert_eq!(queue.hosts().await.unwrap().len(), 2);
        tokio::time::sleep(Duration::from_millis(250)).await;
        queue.host_seen(&report("here", &[], 1)).await.unwrap();
        let left = queue.hosts().await.unwrap();
        assert_eq!(left.iter().map(|host| host.host.as_str()).collect::<Vec<_>>(), ["here"]);
    }

    async fn names_past_the_limits_are_refused(store) {
        for (bad, at_fault) in [(report("", &[], 1), "host"), (report("a", &[""], 1), "kind")] {
            match store.queue.host_seen(&bad).await {
                Err(QueueError::Invalid { field, .. }) => assert_eq!(field, at_fault),
                other => panic!("{other:?}"),
            }
        }
    }
}
