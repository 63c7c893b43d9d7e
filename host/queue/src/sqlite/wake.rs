//! Hearing of work that other processes enqueued.

use std::sync::Arc;
use std::time::Duration;

use sqlx::SqlitePool;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

/// How soon a write of another process is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Looks for writes of other processes until the answer is dropped.
///
/// `data_version` moves only for writes of other connections. Asked on the one connection that writes,
/// it never moves for the writes of this process.
pub(super) fn watch(writer: SqlitePool, wake: Arc<Notify>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut ticks = tokio::time::interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut seen: Option<i64> = None;
        loop {
            ticks.tick().await;
            match sqlx::query_scalar("pragma data_version").fetch_one(&writer).await {
                Ok(version) => {
                    if seen.replace(version).is_some_and(|before| before != version) {
                        wake.notify_one();
                    }
                }
                Err(error) => tracing::debug!(%error, "not watching for new work; polling goes on"),
            }
        }
    });
    tasks
}
