//! A database server that is restarted, or that fails over to its standby.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::json;
use workhost_queue::{ItemId, Status};

use crate::harness::replicated::Pair;
use crate::harness::*;

/// Heartbeats and tries of outcomes come many times a second: a stream of lines would be seen.
const OUTAGE: Duration = Duration::from_secs(5);

/// No host has more loops that use the store.
const LOOPS: usize = 8;

/// No host has more connections to it.
const CONNECTIONS: usize = 12;

struct Outage {
    w: Workshop,
    daemon: Daemon,
    items: Vec<ItemId>,
    /// How long the log was before.
    before: usize,
}

impl Outage {
    /// A host that has items which go on, and items whose handlers end while the server is away.
    async fn prepare(pair: &Pair) -> Outage {
        let w = Workshop::with_store(pair.leader_url("postgres")).await;
        w.configure(&(w.journal_kind("") + &guest("echo", "")));
        let daemon = w.serve();
        let items = w.add(&[endless(20), endless(20)]).await;
        for id in &items {
            w.until_journal_grows(&id.to_string(), 20).await;
        }
        daemon.until_ready(true).await;
        let before = w.log().len();
        Outage { w, daemon, items, before }
    }

    async fn lasts(&self) {
        // Their outcomes cannot be recorded.
        self.w.journal_is_enough();
        self.daemon.until_ready(false).await;
        tokio::time::sleep(OUTAGE).await;
    }

    /// Work goes on by itself once the server is back.
    #[expect(clippy::print_stderr, reason = "how long it took is told, not judged: the machine may be busy")]
    async fn ends(self) {
        let Outage { w, daemon, items, before } = self;
        let back = Instant::now();
        let id = w.add(&[new_item("echo", &json!({ "message": "x" }))]).await[0];
        let item = w.until_finished(id).await;
        assert_eq!((item.status, item.attempt, item.stalls), (Status::Succeeded, 1, 0));
        eprintln!("the server is back, and work goes on after {:?}", back.elapsed());
        daemon.until_ready(true).await;
        for id in items {
            let item = w.until_finished(id).await;
            assert_eq!((item.status, item.failures), (Status::Succeeded, 0));
            assert_eq!((item.attempt, item.stalls), (2, 1), "the outage was longer than its lease\n{}", w.log());
        }
        w.journals_must_be_one_at_a_time();
        is_told_once(&w.log()[before..]);
        daemon.stop();
    }
}

/// Each loop has a line when the outage began and one when it was over, however often it tried. What is said of single
/// items is not counted, and a connection that breaks may say so.
fn is_told_once(log: &str) {
    let (own, connections): (Vec<&str>, Vec<&str>) = log.lines().partition(|line| line.contains(" workhost"));
    assert!(connections.len() <= 2 * CONNECTIONS, "a stream of lines about connections\n{log}");
    let of_hosts = own.iter().filter(|line| !line.contains("attempt{") && !line.contains("item="));
    let (over, outage): (Vec<&str>, Vec<&str>) = of_hosts.partition(|line| line.contains(" INFO "));
    let mut told = BTreeMap::<&str, usize>::new();
    for line in &outage {
        // What stands before is the time; the reason can change while it lasts.
        let message = line.split_once(' ').map_or(*line, |(_, rest)| rest);
        *told.entry(message.split("error=").next().unwrap()).or_default() += 1;
    }
    assert!(told.values().all(|times| *times == 1), "told again: {told:#?}\n{log}");
    assert!((1..=LOOPS).contains(&outage.len()), "{} lines say that it began\n{log}", outage.len());
    assert!((1..=LOOPS).contains(&over.len()), "{} lines say that it is over\n{log}", over.len());
}

#[tokio::test]
async fn work_goes_on_by_itself_after_the_server_was_restarted() {
    let mut pair = Pair::start().await;
    let outage = Outage::prepare(&pair).await;
    pair.primary_power(false).await;
    outage.lasts().await;
    pair.primary_power(true).await;
    outage.ends().await;
}

#[tokio::test]
async fn work_goes_on_by_itself_after_a_standby_was_promoted() {
    let mut pair = Pair::start().await;
    let outage = Outage::prepare(&pair).await;
    pair.stop_primary_hard();
    pair.lead_to_standby();
    // It answers, and refuses every write.
    outage.lasts().await;
    pair.standby().promote().await;
    outage.ends().await;
}
