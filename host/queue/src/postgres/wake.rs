//! Hearing of work that others enqueued.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// How long the listener waits before it connects again. Polling finds the work meanwhile.
const RECONNECT_AFTER: Duration = Duration::from_secs(1);

/// Listens on the channel `workhost` until the answer is dropped, and connects again whenever it must.
pub(super) fn listen(server: PgConnectOptions, wake: Arc<Notify>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        loop {
            if let Err(error) = listen_once(&server, &wake).await {
                tracing::debug!(%error, "not listening for new work; polling goes on");
            }
            tokio::time::sleep(RECONNECT_AFTER).await;
        }
    });
    tasks
}

async fn listen_once(server: &PgConnectOptions, wake: &Notify) -> sqlx::Result<()> {
    // A pool of its own: the verbs' connections are never spent on listening.
    let pool =
        PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None).connect_lazy_with(server.clone());
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.listen("workhost").await?;
    // What was told before is unknown, so somebody must look.
    wake.notify_one();
    while listener.try_recv().await?.is_some() {
        wake.notify_one();
    }
    Ok(())
}
