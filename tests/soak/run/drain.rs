//! The end: trouble and load are over, and the hosts work off what is left.

use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::time::sleep;
use workhost_queue::{Pausable, Queue, Status};

use super::fleet::Passage;
use super::load::kinds::TICK;
use super::{Scene, footprint};

/// How long hosts may take for what is left. Three leases of one item after another are the longest part of it.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until no item is queued or running. What remains is told by the oracle.
pub(super) async fn drain(scene: &Scene) -> Result<()> {
    scene.fleet.pass(Passage::Open);
    footprint::take(scene);
    for host in &scene.fleet.hosts {
        // What a host spaces, since it fails at once every time, need not be waited for after a new start.
        host.terminate(&scene.book).await?;
        host.start(&scene.book).await?;
    }
    let began = Instant::now();
    loop {
        let drained = drained(&*scene.queue).await;
        if drained.as_ref().is_ok_and(|drained| *drained) {
            break;
        }
        if began.elapsed() > PATIENCE {
            drained?;
            break;
        }
        sleep(Duration::from_millis(200)).await;
    }
    Ok(())
}

/// Lets all work go on, but no schedule make more of it; answers whether all is done.
async fn drained(queue: &dyn Queue) -> Result<bool> {
    let schedule = Pausable::Schedule { kind: TICK.to_owned(), scope: None };
    for paused in queue.paused().await? {
        if paused.work != schedule {
            queue.resume(&paused.work, Some("soak")).await?;
        }
    }
    queue.pause(&schedule, Some("soak")).await?;
    let counts = queue.counts().await?;
    let open = |status| matches!(status, Status::Queued | Status::Running);
    Ok(counts.iter().filter(|count| open(count.status)).all(|count| count.count == 0))
}

/// Ends the hosts, which must be running still, and end cleanly.
pub(super) async fn stop_hosts(scene: &Scene) {
    for host in &scene.fleet.hosts {
        let ended = match host.has_ended().await {
            Some(status) => Err(anyhow::anyhow!("it had ended with {status}")),
            None => host.terminate(&scene.book).await,
        };
        if let Err(error) = ended {
            let said = format!("host {}: {error:#}; see {}", host.name, host.log().display());
            scene.book.amiss("a host that nobody ends goes on", None, said);
        }
    }
}
