//! Clients that enqueue.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rand::RngExt as _;
use workhost_queue::{ConnectOptions, NewItem, connect};

use super::kinds;
use crate::run::Scene;
use crate::run::book::Enqueued;

/// Open items beyond which clients wait: the hosts are to be busy, not buried.
const BACKLOG: u64 = 80;

/// Enqueues until the load ends, over connections of its own.
pub(super) async fn enqueue(scene: Arc<Scene>, number: u32) -> Result<()> {
    let mut choices = scene.plan.choices(&format!("client {number}"));
    let options = ConnectOptions { max_connections: 2, ..ConnectOptions::default() };
    let queue = connect(&scene.store_url, options).await?;
    while scene.clock.wait(Duration::from_millis(choices.random_range(50..400))).await {
        let items: Vec<_> = (0..choices.random_range(1..=4)).map(|_| kinds::draw(&mut choices)).collect();
        let items = scene.book.write(|pages| {
            let open = |kind: &str| pages.open.get(kind).copied().unwrap_or(0);
            let is_wanted = |item: &NewItem| open(&item.kind) < kinds::most_open(&item.kind);
            if pages.open.values().sum::<u64>() > BACKLOG {
                return Vec::new();
            }
            items.into_iter().filter(is_wanted).collect()
        });
        if items.is_empty() {
            continue;
        }
        let answers = queue.enqueue(&items).await;
        scene.book.write(|pages| match answers {
            Ok(answers) => pages.enqueued.extend(items.into_iter().zip(answers).map(|(item, answer)| Enqueued {
                id: answer.id().0,
                kind: item.kind,
                created: answer.created().is_some(),
            })),
            // They may be there: an enqueue without a key is not repeated, or it could be doubled.
            Err(_) => pages.unanswered += items.len() as u64,
        });
    }
    Ok(())
}
