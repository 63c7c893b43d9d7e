//! A host whose clock is put forward and back while it works.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use workhost_queue::{NewItem, Status};

use crate::harness::*;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// The wall clock of a daemon.
struct Clock {
    shim: String,
    file: PathBuf,
}

impl Clock {
    /// `None` where this machine has no C compiler.
    fn new(w: &Workshop) -> Option<Clock> {
        let (source, shim) = (w.write("clock.c", include_str!("../clock.c")), w.path("clock.so"));
        let compiled =
            Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&shim).arg(&source).arg("-ldl").output();
        let Ok(output) = compiled else {
            left_out("there is no C compiler `cc`");
            return None;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let clock = Clock { shim: shim.display().to_string(), file: w.path("clock") };
        clock.set(0);
        Some(clock)
    }

    fn serve(&self, w: &Workshop) -> Daemon {
        let file = self.file.display().to_string();
        w.launch(Launch { env: &[("LD_PRELOAD", &self.shim), ("WORKHOST_TEST_CLOCK", &file)], ..Launch::default() })
    }

    /// Puts it forward or back from the true time, in one step.
    fn set(&self, seconds: i64) {
        let next = self.file.with_extension("next");
        std::fs::write(&next, seconds.to_string()).unwrap();
        std::fs::rename(next, &self.file).unwrap();
    }
}

/// By how many seconds the clock of the host that wrote this journal is off, about.
fn off(w: &Workshop, journal: &str) -> i64 {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as i128;
    i64::try_from((w.journal(journal).last().unwrap().at - now) / 1000).unwrap()
}

#[tokio::test]
async fn a_hosts_clock_changes_nothing_on_postgresql() {
    let w = Workshop::new(Store::Postgres).await;
    let Some(clock) = Clock::new(&w) else { return };
    w.configure(&(w.journal_kind("") + &guest("echo", "every = \"1h\"\npayload = { message = \"x\" }")));
    let daemon = clock.serve(&w);
    let long = w.add(&[endless(20)]).await[0];
    let later = w.add(&[NewItem { delay: Duration::from_secs(3600), ..steps(1, 1) }]).await[0];
    w.first_of_kind("echo").await;
    for seconds in [-HOUR, DAY, 0] {
        clock.set(seconds);
        let lease = w.item(long).await.lease_expires_at.unwrap();
        for _ in 0..3 {
            let quick = w.add(&[steps(1, 1)]).await[0];
            let quick = w.until_finished(quick).await;
            assert_eq!((quick.status, quick.attempt), (Status::Succeeded, 1));
        }
        // A whole lease and many polls later.
        w.until(long, "alive", |item| item.lease_expires_at.is_none_or(|now| now > lease + 2 * LEASE)).await;
        assert!((off(&w, &long.to_string()) - seconds).abs() < 60, "the clock was not put to {seconds}");
        let item = w.item(long).await;
        assert_eq!((item.status, item.attempt, item.stalls), (Status::Running, 1, 0), "at {seconds}: {}", w.log());
        assert_eq!(w.item(later).await.attempt, 0, "claimed an hour early");
        let schedule = "select count(*) from work_items where kind = 'echo'";
        assert_eq!(w.count(schedule).await, 1, "the schedule ran early");
    }
    w.journal_is_enough();
    let item = w.until_finished(long).await;
    assert_eq!((item.status, item.attempt, item.stalls), (Status::Succeeded, 1, 0));
    daemon.stop();
}

#[tokio::test]
async fn the_process_that_owns_a_sqlite_file_never_recovers_its_own_attempts_whatever_its_clock_does() {
    let w = Workshop::new(Store::Sqlite).await;
    let Some(clock) = Clock::new(&w) else { return };
    w.configure(&w.journal_kind(""));
    let daemon = clock.serve(&w);
    let items = w.add(&[endless(20), endless(20), endless(20)]).await;
    let names: Vec<String> = items.iter().map(ToString::to_string).collect();
    for seconds in [0, -HOUR, DAY, -DAY, 0] {
        clock.set(seconds);
        for name in &names {
            // More than a lease and many polls.
            w.until_journal_grows(name, 120).await;
            assert!((off(&w, name) - seconds).abs() < 60, "the clock was not put to {seconds}");
        }
        for id in &items {
            let item = w.item(*id).await;
            assert_eq!((item.status, item.attempt, item.stalls), (Status::Running, 1, 0), "at {seconds}: {}", w.log());
        }
    }
    w.journal_is_enough();
    for id in items {
        let item = w.until_finished(id).await;
        assert_eq!((item.status, item.attempt, item.stalls), (Status::Succeeded, 1, 0));
    }
    daemon.stop();
}
