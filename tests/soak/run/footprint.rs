//! What the hosts take of the machine.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::Scene;
use super::clock::now_ms;

/// Memory, threads and open files of a host's process at one time.
#[derive(Clone, Debug)]
pub(crate) struct Footprint {
    pub(crate) host: String,
    pub(crate) pid: u32,
    pub(crate) at_ms: i64,
    pub(crate) resident_mib: u64,
    pub(crate) threads: u64,
    pub(crate) files: u64,
}

/// Measures all hosts again and again; 4,000 times in a long run, more often in a short one.
pub(crate) async fn measure(scene: Arc<Scene>) {
    let pause = (scene.plan.total / 4000).max(Duration::from_secs(1));
    loop {
        sleep(pause).await;
        take(&scene);
    }
}

/// Measures each host that runs.
pub(crate) fn take(scene: &Scene) {
    for host in &scene.fleet.hosts {
        if let Some(footprint) = host.pid().and_then(|pid| read(&host.name, pid)) {
            scene.book.write(|pages| pages.footprints.push(footprint));
        }
    }
}

/// `None` where the process has just ended.
fn read(host: &str, pid: u32) -> Option<Footprint> {
    let process = format!("/proc/{pid}");
    let status = std::fs::read_to_string(format!("{process}/status")).ok()?;
    let number = |name: &str| -> Option<u64> {
        status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
    };
    Some(Footprint {
        host: host.to_owned(),
        pid,
        at_ms: now_ms(),
        resident_mib: number("VmRSS:")? / 1024,
        threads: number("Threads:")?,
        files: std::fs::read_dir(format!("{process}/fd")).ok()?.count() as u64,
    })
}
