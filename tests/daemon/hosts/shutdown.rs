//! Shutdowns while the store is out of reach.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use sqlx::{Connection as _, PgConnection};
use workhost_queue::Status;

use crate::harness::proxy::{Proxy, Way, server_of};
use crate::harness::*;

/// What is promised is `shutdown_grace` + 5 s, which is 7 s here; the rest is for a busy machine.
const BOUND: Duration = Duration::from_secs(7 + 4);

async fn behind_a_proxy(worker: &str) -> (Workshop, Proxy) {
    let w = Workshop::new(Store::Postgres).await;
    let proxy = Proxy::start(SocketAddr::from(([127, 0, 0, 1], 0)), server_of(w.store_url()));
    let kinds = w.journal_kind("") + &guest("spin", "");
    w.configure_host_by(&proxy.url(w.store_url()), "workhost", worker, &kinds);
    (w, proxy)
}

/// A clean end within the bound.
fn ends(daemon: Daemon, w: &Workshop) {
    daemon.signal("TERM");
    let start = Instant::now();
    let status = daemon.wait();
    assert_eq!(status.code(), Some(0), "{}", w.log());
    assert!(start.elapsed() < BOUND, "it took {:?}\n{}", start.elapsed(), w.log());
}

/// Whether handlers spin, wait or are done: none holds it up.
async fn at_work(way: Way) {
    let (w, proxy) = behind_a_proxy(&worker("test-host")).await;
    let daemon = w.serve();
    let items = w.add(&[new_item("spin", &serde_json::json!({})), endless(20), steps(1, 2000)]).await;
    for id in &items {
        w.until(*id, "running", |item| item.status == Status::Running).await;
    }
    w.until_journal_grows(&items[1].to_string(), 5).await;
    proxy.set(way);
    ends(daemon, &w);
    for id in items {
        assert_eq!((w.item(id).await.attempt, w.item(id).await.failures), (1, 0));
    }
}

#[tokio::test]
async fn a_shutdown_ends_in_time_while_the_store_swallows_everything() {
    at_work(Way::Swallowed).await;
}

#[tokio::test]
async fn a_shutdown_ends_in_time_while_the_store_is_late_with_everything() {
    at_work(Way::Held).await;
}

#[tokio::test]
async fn a_shutdown_ends_in_time_while_the_store_refuses_connections() {
    at_work(Way::Refused).await;
}

#[tokio::test]
async fn a_shutdown_ends_in_time_while_a_claim_hangs() {
    let (w, proxy) = behind_a_proxy(&worker("test-host")).await;
    let daemon = w.serve();
    daemon.until_ready(true).await;
    proxy.set(Way::Swallowed);
    // One claim was given up, and the next one is on its way.
    daemon.until_ready(false).await;
    ends(daemon, &w);
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once_while_the_store_swallows_everything() {
    let long = worker("test-host").replace("shutdown_grace = \"2s\"", "shutdown_grace = \"10m\"");
    let (w, proxy) = behind_a_proxy(&long).await;
    let daemon = w.serve();
    let id = w.add(&[new_item("spin", &serde_json::json!({}))]).await[0];
    w.until(id, "running", |item| item.status == Status::Running).await;
    proxy.set(Way::Swallowed);
    daemon.signal("TERM");
    w.until_logged("workhost", "stopping", 0).await;
    daemon.signal("TERM");
    assert_eq!(daemon.wait().code(), Some(130), "{}", w.log());
}

#[tokio::test]
async fn a_shutdown_ends_the_wait_for_somebody_elses_migration() {
    let w = Workshop::new(Store::Postgres).await;
    w.configure(&guest("echo", ""));
    let mut somebody = PgConnection::connect(w.store_url()).await.unwrap();
    sqlx::raw_sql("begin; create schema workhost").execute(&mut somebody).await.unwrap();
    let log = std::fs::File::create(w.path("workhost.log")).unwrap();
    let mut daemon = w.command(&["serve"]).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
    let waits = "select count(*) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'";
    let start = Instant::now();
    while w.count(waits).await == 0 {
        assert!(start.elapsed() < PATIENCE, "it waits for nothing: {}", w.log());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let asked = Instant::now();
    std::process::Command::new("kill").arg(daemon.id().to_string()).status().unwrap();
    assert_eq!(daemon.wait().unwrap().code(), Some(0), "{}", w.log());
    // It would wait for half a minute.
    assert!(asked.elapsed() < BOUND, "it took {:?}\n{}", asked.elapsed(), w.log());
    assert!(w.log().contains("opening the store"), "{}", w.log());
}
