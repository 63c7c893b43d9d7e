//! Somebody who calls items off: queued ones, running ones, and some that are finished.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rand::RngExt as _;
use workhost_queue::ItemId;

use crate::run::Scene;
use crate::run::book::Cancel;
use crate::run::clock::now_ms;

/// Cancels until the load ends.
pub(super) async fn cancel(scene: Arc<Scene>) -> Result<()> {
    let mut choices = scene.plan.choices("cancels");
    while scene.clock.wait(Duration::from_millis(choices.random_range(200..900))).await {
        let back = choices.random_range(1..=40);
        let Some(id) = scene.book.write(|pages| pages.enqueued.iter().rev().nth(back).map(|enqueued| enqueued.id))
        else {
            continue;
        };
        // An unanswered one may be repeated; what came of it shows in the item.
        while scene.clock.load_goes_on() {
            if let Ok(answer) = scene.queue.cancel_by(ItemId(id), Some("soak")).await {
                let cancel = Cancel { id, answer, answered_ms: now_ms() };
                scene.book.write(|pages| pages.cancels.push(cancel));
                break;
            }
            scene.clock.wait(Duration::from_millis(100)).await;
        }
    }
    Ok(())
}
