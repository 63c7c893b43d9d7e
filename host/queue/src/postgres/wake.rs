//! Hearing of work that others enqueued.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::{Acquire as _, Connection as _};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connections::{CONNECT, connect, is_silent, within};

/// How long the listener waits before it connects again. Polling finds the work meanwhile.
const RECONNECT_AFTER: Duration = Duration::from_secs(1);

/// How long nothing comes until the connection must give a sign of life: who only listens does not notice that nobody
/// is there any more.
const QUIET: Duration = Duration::from_secs(10);

/// How long it has for that.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// Listens on the channel `workhost` until the answer is dropped, and connects again whenever it must.
pub(super) fn listen(server: PgConnectOptions, wake: Arc<Notify>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        loop {
            if let Err(error) = listen_once(&server, &wake).await {
                tracing::debug!(%error, "not listening for new work; polling goes on");
            }
            sleep(RECONNECT_AFTER).await;
        }
    });
    tasks
}

async fn listen_once(server: &PgConnectOptions, wake: &Notify) -> sqlx::Result<()> {
    // A pool of its own: the verbs' connections are never spent on listening.
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(CONNECT)
        .max_lifetime(None)
        .idle_timeout(None)
        .connect_lazy_with(server.clone());
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.eager_reconnect(false);
    let lost = hear(&mut listener, wake).await;
    if lost.as_ref().is_err_and(is_silent) {
        close(listener, server).await;
    }
    lost
}

/// Wakes until the connection is lost.
async fn hear(listener: &mut PgListener, wake: &Notify) -> sqlx::Result<()> {
    within(CONNECT, "`listen`", listener.listen("workhost")).await?;
    // What was told before is unknown, so somebody must look.
    wake.notify_one();
    loop {
        match timeout(QUIET, listener.try_recv()).await {
            Ok(Ok(Some(_))) => wake.notify_one(),
            Ok(lost) => return lost.map(drop),
            Err(_) => within(SIGN_OF_LIFE, "a sign of life", listener.acquire().await?.ping()).await?,
        }
    }
}

/// Closes a silent connection at once. When it is dropped, the listener says goodbye on its connection and waits for an
/// answer, so it gets another one for that.
async fn close(mut listener: PgListener, server: &PgConnectOptions) {
    loop {
        match connect(server, CONNECT).await {
            Ok(mut another) => {
                if let Ok(silent) = listener.acquire().await {
                    std::mem::swap(silent, &mut another);
                }
                return;
            }
            Err(error) => tracing::debug!(%error, "not listening for new work; polling goes on"),
        }
        sleep(RECONNECT_AFTER).await;
    }
}
