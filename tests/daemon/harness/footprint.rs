//! What a running daemon takes of its machine.

use std::time::{Duration, Instant};

use super::Daemon;

/// Memory, threads and open files of a process.
#[derive(Debug)]
pub(crate) struct Footprint {
    resident_kib: u64,
    threads: u64,
    files: usize,
}

/// An allocator keeps some of what it was given back, the more the more threads were at work: up to 17 MiB were seen. Half
/// of what one sandbox may have, so that one that stays is seen; and 3.3 KiB for each of 10,000 attempts.
const KIB: u64 = 32 << 10;
/// Threads for blocking calls and connections to the store come and go, a few of each.
const THREADS: u64 = 4;
const FILES: usize = 8;
/// How long a thread for blocking calls waits for another one (tokio's default).
const IDLE: Duration = Duration::from_secs(10);
/// Linux tells times of a process in these, whatever its own clock.
const TICKS_PER_SECOND: u64 = 100;
const SETTLING: Duration = Duration::from_secs(30);

impl Daemon {
    pub(crate) fn footprint(&self) -> Footprint {
        let process = format!("/proc/{}", self.pid());
        let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        let files = std::fs::read_dir(format!("{process}/fd")).unwrap().count();
        Footprint { resident_kib: number("VmRSS:"), threads: number("Threads:"), files }
    }

    /// The same once the threads are gone that loaded the components.
    pub(crate) async fn footprint_at_rest(&self) -> Footprint {
        tokio::time::sleep(IDLE + Duration::from_secs(1)).await;
        self.footprint()
    }

    /// Waits until it computes for less than a tenth of the time.
    pub(crate) async fn idles(&self) {
        let start = Instant::now();
        loop {
            let (before, since) = (self.computed(), Instant::now());
            tokio::time::sleep(Duration::from_secs(1)).await;
            let computed = self.computed() - before;
            if computed < since.elapsed() / 10 {
                return;
            }
            assert!(start.elapsed() < SETTLING, "it goes on to compute: {computed:?} in {:?}", since.elapsed());
        }
    }

    /// How long its threads were on a core, in all.
    fn computed(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        // After the name, which may hold anything but ends with the last parenthesis; fields are counted from the third.
        let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks: u64 = [11, 12].iter().map(|place| fields[*place].parse::<u64>().unwrap()).sum();
        Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
    }

    /// Waits until it takes about what it took before.
    pub(crate) fn settles_at(&self, before: &Footprint, after: &str) {
        let start = Instant::now();
        loop {
            let now = self.footprint();
            let settled = now.resident_kib <= before.resident_kib + KIB
                && now.threads <= before.threads + THREADS
                && now.files <= before.files + FILES;
            if settled {
                return;
            }
            assert!(start.elapsed() < SETTLING, "after {after}: {now:?}, before {before:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
