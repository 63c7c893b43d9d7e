//! What clients do: enqueue and cancel, through the queue's verbs and through the command line.

mod cancels;
mod clients;
mod command_line;
pub(super) mod kinds;

use std::sync::Arc;

use anyhow::Result;
use tokio::task::JoinSet;

use super::Scene;

/// Clients that enqueue side by side.
const CLIENTS: u32 = 2;

/// Starts all clients; they end with the load.
pub(super) fn start(scene: &Arc<Scene>, at_work: &mut JoinSet<Result<()>>) {
    for number in 0..CLIENTS {
        at_work.spawn(clients::enqueue(scene.clone(), number));
    }
    at_work.spawn(cancels::cancel(scene.clone()));
    at_work.spawn(command_line::type_commands(scene.clone()));
}
