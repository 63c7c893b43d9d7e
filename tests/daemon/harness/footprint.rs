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
