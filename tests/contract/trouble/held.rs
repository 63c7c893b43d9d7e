//! Verbs that each hold a connection, for as long as a test wants.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use workhost_queue::Queue;

use crate::store::{TestStore, keyed};

/// How long a test waits for what must come. Without what it shows it would take minutes.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until it is so.
macro_rules! until {
    ($is_so:expr) => {
        let deadline = tokio::time::Instant::now() + $crate::trouble::held::PATIENCE;
        while !$is_so {
            assert!(tokio::time::Instant::now() < deadline, "it never came");
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
}
pub(super) use until;

/// Runs as many verbs at once as are needed to open as many connections: each waits for the same key.
pub(super) async fn occupy(store: &TestStore, host: &Arc<dyn Queue>, connections: u32) {
    let (holder, waiting) = wait_for_a_key(store, host, connections).await;
    holder.rollback().await.unwrap();
    for answer in waiting.join_all().await {
        answer.unwrap();
    }
}

/// Verbs that each hold a connection of the host until the transaction ends.
pub(super) async fn wait_for_a_key(
    store: &TestStore,
    host: &Arc<dyn Queue>,
    verbs: u32,
) -> (sqlx::Transaction<'static, sqlx::Postgres>, JoinSet<workhost_queue::Result<()>>) {
    let mut holder = store.pg().begin().await.unwrap();
    sqlx::query("select workhost.enqueue('held', '{}', dedup_key => 'k')").execute(&mut *holder).await.unwrap();
    let mut waiting = JoinSet::new();
    for _ in 0..verbs {
        let host = Arc::clone(host);
        waiting.spawn(async move { host.enqueue(&[keyed("held", "k")]).await.map(drop) });
    }
    let all = format!(
        "select count(*) - {verbs} from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    );
    until!(store.number(all.as_str()).await == 0);
    (holder, waiting)
}
