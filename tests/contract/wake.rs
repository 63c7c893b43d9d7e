//! Hearing of new work.

use std::time::Duration;

use workhost_queue::{ConnectOptions, Periodic, Pooler, QueueError, Schedule};

use crate::store::{Engine, LEASE, contract, contract_on, json, new};

const SOON: Duration = Duration::from_secs(5);

contract! {
    async fn an_enqueue_wakes_this_process_even_if_nobody_waited_yet(store) {
        let wake = store.queue.wake();
        // The migration, which another connection wrote, wakes too.
        while tokio::time::timeout(Duration::from_millis(600), wake.notified()).await.is_ok() {}
        store.enqueue(new("a")).await;
        tokio::time::timeout(SOON, wake.notified()).await.expect("the wake was kept");
    }

    async fn an_enqueue_wakes_other_hosts(store) {
        let other = store.host().await;
        let wake = other.wake();
        // Until the host listens, or has looked once, it may wake for nothing.
        tokio::time::sleep(Duration::from_millis(600)).await;
        while tokio::time::timeout(Duration::from_millis(300), wake.notified()).await.is_ok() {}
        store.enqueue(new("a")).await;
        tokio::time::timeout(SOON, wake.notified()).await.expect("the other host heard of it");
        let again = tokio::time::timeout(Duration::from_millis(400), wake.notified()).await;
        assert!(again.is_err(), "one batch wakes once");
    }

    async fn what_is_dropped_listens_no_more(store) {
        let other = store.host().await;
        let wake = other.wake();
        tokio::time::sleep(Duration::from_millis(600)).await;
        drop(other);
        tokio::time::sleep(Duration::from_millis(200)).await;
        while tokio::time::timeout(Duration::from_millis(300), wake.notified()).await.is_ok() {}
        assert_eq!(std::sync::Arc::strong_count(&wake), 1);
        if store.engine == Engine::Postgres {
            let listeners = "select count(*) from pg_stat_activity where application_name = 'workhost' and query ilike 'listen%' and datname = current_database()";
            assert_eq!(store.number(listeners).await, 1, "only the first host listens");
        }
    }
}

contract! {
    async fn what_a_schedule_enqueues_wakes_this_process_and_nothing_does_when_none_is_due(store) {
        // Where nobody listens: on SQLite that is so for the own writes, elsewhere behind a pooler.
        let host = store.host_with(ConnectOptions { pooler: Pooler::Transaction, ..Default::default() }).await;
        let wake = host.wake();
        while tokio::time::timeout(Duration::from_millis(600), wake.notified()).await.is_ok() {}
        let hourly = [Periodic { kind: "a".to_owned(), scope: None, payload: json("{}"), schedule: Schedule::Every(LEASE) }];
        assert_eq!(host.enqueue_due(&hourly).await.unwrap().len(), 1);
        tokio::time::timeout(SOON, wake.notified()).await.expect("something was enqueued");
        assert_eq!(host.enqueue_due(&hourly).await.unwrap(), []);
        assert!(tokio::time::timeout(Duration::from_millis(400), wake.notified()).await.is_err(), "nothing was");
    }
}

contract_on! { Postgres:
    async fn a_listener_that_lost_its_connection_wakes_and_listens_again(store) {
        let wake = store.queue.wake();
        tokio::time::sleep(Duration::from_millis(600)).await;
        while tokio::time::timeout(Duration::from_millis(300), wake.notified()).await.is_ok() {}
        store
            .sql("select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen%' and datname = current_database()")
            .await;
        tokio::time::timeout(SOON, wake.notified()).await.expect("something may have been missed");
        tokio::time::sleep(Duration::from_millis(1500)).await;
        while tokio::time::timeout(Duration::from_millis(300), wake.notified()).await.is_ok() {}
        store.host().await.enqueue(&[new("a")]).await.unwrap();
        tokio::time::timeout(SOON, wake.notified()).await.expect("it listens again");
    }

    async fn a_store_that_is_gone_is_unavailable_and_its_password_is_not_told(_store) {
        let url = "postgres://somebody:s3cret@127.0.0.1:9/nowhere";
        let options = workhost_queue::ConnectOptions { acquire_timeout: Duration::from_millis(500), ..Default::default() };
        let error = workhost_queue::connect(url, options).await.err().unwrap();
        assert!(matches!(error, QueueError::Unavailable { .. }), "{error}");
        assert!(error.to_string().contains("refused"), "the reason, and not that the time is over: {error}");
        assert!(!error.to_string().contains("s3cret"), "{error}");
        let error = workhost_queue::connect("mysql://u:s3cret@h/db", Default::default()).await.err().unwrap();
        assert!(error.to_string().contains("expected sqlite:// ") && !error.to_string().contains("s3cret"), "{error}");
    }
}
