//! What is done to the hosts and to their store.

mod hosts;
mod store;

use std::sync::Arc;

use anyhow::Result;
use tokio::task::JoinSet;

use super::Scene;
use super::book::{Deed, What};
use super::clock::now_ms;

/// Starts all trouble. It ends with the load, and leaves every host running.
pub(super) fn start(scene: &Arc<Scene>, at_work: &mut JoinSet<Result<()>>) {
    for number in 0..scene.fleet.hosts.len() {
        at_work.spawn(hosts::trouble(scene.clone(), number));
    }
    at_work.spawn(store::trouble(scene.clone()));
}

/// Does something to one host, or to all, and notes from when to when.
async fn doing<T>(scene: &Scene, host: Option<&str>, what: What, does: impl Future<Output = T>) -> T {
    let from_ms = now_ms();
    scene.book.write(|pages| pages.under_way += 1);
    let done = does.await;
    let deed = Deed { host: host.map(str::to_owned), what, from_ms, to_ms: now_ms() };
    scene.book.write(|pages| {
        pages.under_way -= 1;
        pages.deeds.push(deed);
    });
    done
}
