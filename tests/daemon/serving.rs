//! The daemon as a process: health, one per SQLite file, the address.

use std::net::TcpListener;

use crate::harness::*;

on_both_stores! {
    async fn health_and_readiness_answer(w: Workshop) {
        w.configure(&guest("echo", ""));
        let daemon = w.serve();
        assert_eq!(daemon.get("/healthz"), (200, r#"{"status":"ok"}"#.into()));
        assert_eq!(daemon.get("/readyz"), (200, r#"{"ready":true,"red":{}}"#.into()));
        assert_eq!(daemon.get("/elsewhere").0, 404);
        daemon.stop();
    }

    async fn an_address_that_is_taken_is_told(w: Workshop) {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        w.configure(&guest("echo", ""));
        let text = std::fs::read_to_string(w.path("workhost.toml")).unwrap();
        w.write("workhost.toml", text.replace("127.0.0.1:0", &address.to_string()));
        assert!(w.run_refused(&["serve"]).contains(&format!("cannot listen on {address}")));
    }
}

#[tokio::test]
async fn a_second_daemon_on_one_sqlite_file_is_refused_naming_the_first() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&guest("echo", ""));
    let daemon = w.serve();
    let said = w.run_refused(&["serve"]);
    assert!(said.contains("test-host/") && said.contains(&daemon.pid().to_string()), "{said}");
    daemon.stop();
    w.serve().stop();
}

#[tokio::test]
async fn two_hosts_share_one_postgresql_and_each_item_runs_once() {
    let w = Workshop::new(Store::Postgres).await;
    w.configure(&guest("echo", ""));
    let (one, two) = (w.serve(), w.serve());
    let ids: Vec<_> = (0..20).map(|_| w.enqueue("echo", &["--payload", r#"{"message": "x"}"#])).collect();
    for id in ids {
        assert_eq!(w.until_finished(id).await.attempt, 1);
    }
    one.stop();
    two.stop();
}

#[tokio::test]
async fn a_sqlite_file_is_whole_by_itself_after_a_clean_stop() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&guest("echo", ""));
    let daemon = w.serve();
    let id = w.enqueue("echo", &["--payload", r#"{"message": "x"}"#]);
    // This process may not open it: the last one that closes it tidies up.
    while !w.log().contains(": done") {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    daemon.stop();
    let beside: Vec<_> = ["store.db-wal", "store.db-shm"].into_iter().filter(|name| w.path(name).exists()).collect();
    assert!(beside.is_empty(), "{beside:?}: whoever copies the file alone loses what they hold");
    assert_eq!(w.item(id).await.attempt, 1);
}
