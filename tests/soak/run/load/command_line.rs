//! Somebody at a terminal: `workhost enqueue` and `workhost cancel`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rand::RngExt as _;
use serde_json::Value;
use workhost_queue::{CancelAnswer, NewItem};

use super::kinds;
use crate::run::Scene;
use crate::run::book::{Cancel, Enqueued};
use crate::run::clock::now_ms;
use crate::run::fleet::program;

/// Types commands until the load ends.
pub(super) async fn type_commands(scene: Arc<Scene>) -> Result<()> {
    let mut choices = scene.plan.choices("command line");
    while scene.clock.wait(Duration::from_millis(choices.random_range(3000..8000))).await {
        let item = kinds::draw(&mut choices);
        let Some(id) = enqueue(&scene, item).await else { continue };
        if choices.random_bool(0.3) {
            cancel(&scene, id).await;
        }
    }
    Ok(())
}

/// The item's id, if the command said so.
async fn enqueue(scene: &Scene, item: NewItem) -> Option<i64> {
    let mut arguments = vec!["enqueue", &item.kind, "--payload", item.payload.as_str(), "--json"];
    arguments.extend(item.scope.iter().flat_map(|scope| ["--scope", scope]));
    arguments.extend(item.dedup_key.iter().flat_map(|key| ["--dedup-key", key]));
    let answer = run(scene, &arguments).await;
    scene.book.write(|pages| {
        let Some((id, outcome)) =
            answer.and_then(|answer| Some((answer["id"].as_i64()?, answer["outcome"].as_str()?.to_owned())))
        else {
            pages.unanswered += 1;
            return None;
        };
        pages.enqueued.push(Enqueued { id, kind: item.kind.clone(), created: outcome == "created" });
        Some(id)
    })
}

async fn cancel(scene: &Scene, id: i64) {
    let answer = run(scene, &["cancel", &id.to_string(), "--json"]).await;
    let answer = match answer.as_ref().and_then(|answer| answer["answer"].as_str()) {
        Some("cancelled") => CancelAnswer::Cancelled,
        Some("requested") => CancelAnswer::Requested,
        _ => return,
    };
    scene.book.write(|pages| pages.cancels.push(Cancel { id, answer, answered_ms: now_ms() }));
}

/// The answer of a command that succeeded.
async fn run(scene: &Scene, arguments: &[&str]) -> Option<Value> {
    let output = program(&scene.plan, "client").args(arguments).kill_on_drop(true).output().await.ok()?;
    output.status.success().then(|| serde_json::from_slice(&output.stdout).ok()).flatten()
}
