//! Many guests: one after the other, and at the same time.

use std::time::{Duration, Instant};

use workhost_queue::{Json, NewItem, Status};

use super::served;
use crate::harness::*;

/// Attempts in which whatever one leaves behind is not noticed yet, and then so many that it is.
const WARM_UP: usize = 500;
const ATTEMPTS: usize = 10_000;

#[tokio::test]
async fn ten_thousand_attempts_leave_nothing_behind() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure_with("[worker]\nslots = 16\n", &guest("echo", ""));
    let daemon = w.serve();
    run_many(&w, WARM_UP).await;
    let before = daemon.footprint();
    run_many(&w, ATTEMPTS).await;
    daemon.settles_at(&before, "10,000 attempts");
    daemon.stop();
}

/// Runs that many short items to their end.
async fn run_many(w: &Workshop, count: usize) {
    let queue = w.queue().await;
    let item = NewItem::new("echo", Json::parse(r#"{"message":"short"}"#).unwrap());
    let mut last = None;
    for batch in vec![item; count].chunks(WARM_UP) {
        last = queue.enqueue(batch).await.unwrap().last().map(|enqueued| enqueued.id());
    }
    w.until_finished(last.unwrap()).await;
}

/// How soon the daemon says that it is healthy, in half of the cases. If it shared its threads with guests, it would
/// usually wait for several of them, 10 ms for each, until it had read the question and written the answer.
const USUALLY: Duration = Duration::from_millis(25);
/// And in all of them, on a machine that has other things to do.
const ALWAYS: Duration = Duration::from_secs(1);

#[tokio::test]
async fn heartbeats_and_health_stay_on_time_while_sixteen_guests_spin() {
    let w = Workshop::new(Store::Sqlite).await;
    let worker = "[worker]\nheartbeat_interval = \"200ms\"\nlease = \"4s\"\nslots = 17\n";
    w.configure_with(worker, &(guest("spin", "timeout = \"8s\"") + &guest("echo", "")));
    let daemon = w.serve();
    let queue = w.queue().await;
    let item = NewItem::new("spin", Json::parse("{}").unwrap());
    let spinning: Vec<_> = queue.enqueue(&vec![item; 16]).await.unwrap().iter().map(|enqueued| enqueued.id()).collect();
    for id in &spinning {
        w.until(*id, "running", |item| item.status == Status::Running).await;
    }
    let mut answers: Vec<_> = (0..100).map(|_| health(&daemon)).collect();
    answers.sort();
    assert!(answers[50] < USUALLY && answers[99] < ALWAYS, "/healthz answered within {answers:?}");
    served(&w).await;
    for id in spinning {
        let item = w.until_finished(id).await;
        assert_eq!((item.attempt, item.stalls, item.error.as_deref()), (1, 0, Some("timeout of 8s")));
    }
    daemon.stop();
}

/// Asks for the daemon's health a little later, and answers how long that took.
fn health(daemon: &Daemon) -> Duration {
    std::thread::sleep(Duration::from_millis(30));
    let asked = Instant::now();
    assert_eq!(daemon.get("/healthz").0, 200);
    asked.elapsed()
}
