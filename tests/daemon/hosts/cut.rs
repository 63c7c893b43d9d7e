//! A host that is cut off from the store for longer than a lease, and joined again.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;
use workhost_queue::{ItemId, NewItem, Status};

use crate::harness::network::Network;
use crate::harness::proxy::{Proxy, Way, server_of};
use crate::harness::*;

/// The host that is cut off, as a test reaches it.
struct Lonely<'a> {
    /// Cuts it off, or joins it again.
    cut: &'a dyn Fn(bool),
    /// The status of its page `/readyz`.
    ready: &'a dyn Fn() -> u16,
}

impl Lonely<'_> {
    async fn until_ready(&self, ready: bool, w: &Workshop) {
        let start = Instant::now();
        while ((self.ready)() == 200) != ready {
            assert!(start.elapsed() < PATIENCE, "readiness is not {ready}\n{}", w.log_of("lonely"));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The host that is cut off has no slots but for what it is to lose.
fn lonely() -> String {
    format!("{}slots = 2\n", worker("lonely"))
}

/// Work that only the host `lonely` knows.
fn echo() -> NewItem {
    new_item("echo", &json!({ "message": "x" }))
}

fn scoped(scope: &str) -> NewItem {
    NewItem { scope: Some(scope.to_owned()), ..endless(20) }
}

/// `lonely` runs two items, the other hosts come to run others. It is cut off until those are taken over, and joined again.
#[expect(clippy::print_stderr, reason = "how long it took is told, not judged: the machine may be busy")]
async fn is_cut_off_and_works_again(w: &Workshop, lonely: Lonely<'_>, others: impl Fn() -> Vec<Daemon>) {
    let hers = w.add(&[scoped("a"), scoped("b")]).await;
    for scope in ["a", "b"] {
        w.until_journal_grows(scope, 20).await;
    }
    let others = others();
    // What waits behind them, and what the others run meanwhile.
    let more = w.add(&[scoped("a"), scoped("b"), scoped("c"), scoped("d")]).await;
    for scope in ["c", "d"] {
        w.until_journal_grows(scope, 20).await;
    }
    lonely.until_ready(true, w).await;

    (lonely.cut)(true);
    let leases = until_both_are_taken_over(w, &hers).await;
    for (id, lease) in hers.iter().zip(leases) {
        let item = w.item(*id).await;
        assert_eq!((item.stalls, item.failures), (1, 0));
        assert!(!item.host.as_deref().unwrap().starts_with("lonely/"), "{item:?}");
        let last = last_step(w, item.scope.as_deref().unwrap(), *id, 1);
        assert!(last < lease, "it worked until {last}, its lease ran until {lease}");
    }
    until_both_have_stopped_themselves(w).await;
    lonely.until_ready(false, w).await;
    // Three leases are over at least: nothing of the old connections is good any more.
    tokio::time::sleep(LEASE).await;
    assert_ne!((lonely.ready)(), 200);
    let waiting = w.add(&[echo()]).await[0];

    (lonely.cut)(false);
    let joined = Instant::now();
    let item = w.until_finished(waiting).await;
    assert_eq!((item.status, item.attempt, item.stalls), (Status::Succeeded, 1, 0));
    let worked = joined.elapsed();
    lonely.until_ready(true, w).await;
    eprintln!("joined again, it worked after {worked:?} and was ready after {:?}", joined.elapsed());

    w.journal_is_enough();
    for id in hers.iter().chain(&more) {
        let item = w.until_finished(*id).await;
        assert_eq!((item.status, item.failures), (Status::Succeeded, 0));
        assert_eq!(item.stalls, u32::from(hers.contains(id)), "{item:#?}\n{}", w.logs());
    }
    w.journals_must_be_one_at_a_time();
    others.into_iter().for_each(Daemon::stop);
}

/// Answers until when the leases of the first attempts ran, in milliseconds since 1970: what the last heartbeat brought that
/// arrived.
async fn until_both_are_taken_over(w: &Workshop, items: &[ItemId]) -> Vec<i128> {
    let (queue, start) = (w.queue().await, Instant::now());
    let (mut leases, mut taken_over) = (vec![0; items.len()], 0);
    while taken_over < items.len() {
        taken_over = 0;
        for (id, lease) in items.iter().zip(&mut leases) {
            let item = queue.get(*id).await.unwrap().unwrap();
            match item.lease_expires_at {
                Some(until) if item.attempt == 1 => *lease = until.unix_timestamp_nanos() / 1_000_000,
                _ => taken_over += usize::from(item.attempt == 2 && item.status == Status::Running),
            }
        }
        assert!(start.elapsed() < PATIENCE, "nobody takes them over\n{}", w.logs());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    leases
}

async fn until_both_have_stopped_themselves(w: &Workshop) {
    let start = Instant::now();
    let stopped =
        |log: String| log.lines().filter(|line| line.contains("SelfStopped") || line.contains("self-stopped")).count();
    while stopped(w.log_of("lonely")) < 2 {
        assert!(start.elapsed() < PATIENCE, "its attempts do not stop themselves\n{}", w.log_of("lonely"));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// When this attempt wrote its last line.
fn last_step(w: &Workshop, scope: &str, id: ItemId, attempt: u32) -> i128 {
    let journal = w.journal(scope);
    journal.iter().rfind(|step| (step.item, step.attempt) == (id.0, attempt)).unwrap().at
}

#[tokio::test]
async fn a_host_in_a_network_of_its_own_stops_its_attempts_when_cut_off_and_works_again_when_joined() {
    let w = Workshop::new(Store::Postgres).await;
    let Some(network) = Network::new(3, w.store_url()) else { return };
    let (journal, url) = (w.journal_kind(""), network.url(w.store_url()));
    let wrappers = [0, 1, 2].map(|host| network.wrapper(host));
    let launch = |host: usize, name| {
        let wrapper: Vec<&str> = wrappers[host].iter().map(String::as_str).collect();
        w.launch(Launch { host: name, wrapper: &wrapper, ..Launch::default() })
    };
    w.configure_host_by(&url, "lonely", &lonely(), &(journal.clone() + &guest("echo", "")));
    for host in ["one", "two"] {
        w.configure_host_by(&url, host, &worker(host), &journal);
    }
    let daemon = launch(0, "lonely");
    let cut = |cut| if cut { network.cut(0) } else { network.join(0) };
    let lonely = Lonely { cut: &cut, ready: &|| network.status(0, &daemon, "/readyz") };
    is_cut_off_and_works_again(&w, lonely, || vec![launch(1, "one"), launch(2, "two")]).await;
    daemon.stop();
}

/// The same behind a proxy that does not even close a connection.
async fn behind_a_proxy(way: Way) {
    let w = Workshop::new(Store::Postgres).await;
    let proxy = Proxy::start(SocketAddr::from(([127, 0, 0, 1], 0)), server_of(w.store_url()));
    let journal = w.journal_kind("");
    let url = proxy.url(w.store_url());
    w.configure_host_by(&url, "lonely", &lonely(), &(journal.clone() + &guest("echo", "")));
    w.configure_host("one", &worker("one"), &journal);
    let daemon = w.launch(Launch { host: "lonely", ..Launch::default() });
    let cut = |cut| proxy.set(if cut { way } else { Way::Open });
    let lonely = Lonely { cut: &cut, ready: &|| daemon.get("/readyz").0 };
    let one = || vec![w.launch(Launch { host: "one", ..Launch::default() })];
    is_cut_off_and_works_again(&w, lonely, one).await;
    daemon.stop();
}

#[tokio::test]
async fn a_host_whose_packets_vanish_stops_its_attempts_and_works_again_when_they_pass() {
    behind_a_proxy(Way::Swallowed).await;
}

#[tokio::test]
async fn a_host_whose_packets_come_late_stops_its_attempts_and_works_again_when_they_pass() {
    behind_a_proxy(Way::Held).await;
}
