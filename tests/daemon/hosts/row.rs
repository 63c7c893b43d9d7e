//! The row that tells people of a host.

use std::time::{Duration, Instant};

use workhost_queue::Status;

use crate::harness::*;

on_both_stores! {
    async fn a_host_whose_row_was_deleted_works_on_and_is_listed_again(w: Workshop) {
        w.configure(&w.journal_kind(""));
        let daemon = w.serve();
        let id = w.add(&[endless(20)]).await[0];
        let name = id.to_string();
        w.until_journal_grows(&name, 5).await;
        let queue = w.queue().await;
        let start = Instant::now();
        for _ in 0..5 {
            let listed = queue.hosts().await.unwrap();
            assert_eq!(listed.len(), 1, "{listed:?}");
            w.execute("delete from hosts").await;
            while queue.hosts().await.unwrap().is_empty() {
                assert!(start.elapsed() < PATIENCE, "the host does not report itself again\n{}", w.log());
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            w.until_journal_grows(&name, 5).await;
        }
        w.journal_is_enough();
        let item = w.until_finished(id).await;
        assert_eq!((item.status, item.attempt, item.stalls), (Status::Succeeded, 1, 0));
        let another = w.add(&[steps(1, 1)]).await[0];
        assert_eq!(w.until_finished(another).await.status, Status::Succeeded);
        daemon.stop();
        assert!(!w.log().contains("WARN") && !w.log().contains("ERROR"), "{}", w.log());
    }
}
