//! The queue in a SQLite file.
//!
//! One process serves a file; others may open it beside. One connection writes, so that the writes of this
//! process wait for each other in line and not in SQLite's busy loop; a few others read.

mod attempts;
mod audit;
mod batch;
mod cancel;
mod changes;
mod claim;
mod claimed;
mod enqueue;
mod fence;
mod finish;
mod heartbeat;
mod host_verbs;
mod hosts;
mod live;
mod look;
mod migrate;
mod pause;
mod read;
mod recover;
mod retention;
mod schedule;
mod serve;
mod session;
mod tokens;
mod trouble;
mod wake;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::SqlitePool;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::claiming::Hint;
use crate::{
    AttemptRecord, AuditEntry, AuditPage, CancelAnswer, Changes, ConnectOptions, Count, Cursor, DEFAULT_PAYLOAD_BYTES,
    Deed, Enqueued, Fence, Filter, HostSeen, ItemId, Migrated, NewItem, NewToken, Pausable, Paused, Queue, QueueError,
    Result, Serving, Token, TokenId, WorkItem,
};
use live::Live;
use trouble::told;

/// A queue whose items live in a SQLite file.
pub(crate) struct SqliteQueue {
    path: PathBuf,
    /// The file that is open. Another of its name would be another store.
    identity: (u64, u64),
    writer: SqlitePool,
    readers: SqlitePool,
    options: ConnectOptions,
    /// Where the queued items begin.
    hint: Hint<i64>,
    wake: Arc<Notify>,
    live: Live,
    /// The watch over other processes' writes; ends with this value.
    _watch: JoinSet<()>,
}

impl SqliteQueue {
    pub(crate) async fn open(path: &str, mut options: ConnectOptions) -> Result<SqliteQueue> {
        options.limits.payload_bytes.get_or_insert(DEFAULT_PAYLOAD_BYTES);
        let path = session::path(path)?;
        let (writer, readers) = session::pools(&path, &options).await?;
        let identity = session::identity(&path).map_err(|error| gone(&path, &error.to_string()))?;
        let wake = Arc::new(Notify::new());
        let watch = wake::watch(writer.clone(), Arc::clone(&wake));
        Ok(SqliteQueue {
            path,
            identity,
            writer,
            readers,
            options,
            hint: Hint::default(),
            wake,
            live: Live::default(),
            _watch: watch,
        })
    }

    /// Whether the open file still is the one that others find under its name. SQLite would not notice.
    fn check_file(&self) -> Result<()> {
        match session::identity(&self.path) {
            Ok(identity) if identity == self.identity => Ok(()),
            Ok(_) => Err(gone(&self.path, "another file has its name")),
            Err(error) => Err(gone(&self.path, &error.to_string())),
        }
    }
}

fn gone(path: &Path, reason: &str) -> QueueError {
    QueueError::Unavailable {
        reason: format!("{} is not the open file any more ({reason}): put it back, or restart", path.display()),
    }
}

#[async_trait]
impl Queue for SqliteQueue {
    async fn migrate(&self) -> Result<Migrated> {
        migrate::migrate(&self.path, self.options.migration_wait).await
    }

    async fn check(&self) -> Result<()> {
        self.check_file()?;
        migrate::check(&self.readers).await
    }

    async fn serve(&self, host: &str) -> Result<Serving> {
        serve::serve(&self.path, host)
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    async fn enqueue(&self, items: &[NewItem]) -> Result<Vec<Enqueued>> {
        self.options.limits.check_new(items)?;
        let answers = enqueue::enqueue(&self.writer, items).await.map_err(told)?;
        if answers.iter().any(|answer| answer.created().is_some()) {
            self.wake.notify_one();
        }
        Ok(answers)
    }

    async fn enqueue_by(&self, parent: Fence, items: &[NewItem]) -> Result<Option<Vec<Enqueued>>> {
        self.options.limits.check_new(items)?;
        let answers = enqueue::enqueue_by(&self.writer, parent, items).await.map_err(told)?;
        if answers.iter().flatten().any(|answer| answer.created().is_some()) {
            self.wake.notify_one();
        }
        Ok(answers)
    }

    async fn cancel_by(&self, id: ItemId, actor: Option<&str>) -> Result<CancelAnswer> {
        let deed = Deed::of_item(actor, "cancel", id);
        deed.check(&self.options.limits)?;
        cancel::cancel(&self.writer, id, &deed).await.map_err(told)
    }

    async fn pause(&self, work: &Pausable, actor: Option<&str>) -> Result<bool> {
        let deed = Deed::new(actor, "pause", work);
        work.check(&self.options.limits)?;
        deed.check(&self.options.limits)?;
        pause::pause(&self.writer, work, &deed).await.map_err(told)
    }

    async fn resume(&self, work: &Pausable, actor: Option<&str>) -> Result<bool> {
        let deed = Deed::new(actor, "resume", work);
        deed.check(&self.options.limits)?;
        let resumed = pause::resume(&self.writer, work, &deed).await.map_err(told)?;
        if resumed {
            self.wake.notify_one();
        }
        Ok(resumed)
    }

    async fn paused(&self) -> Result<Vec<Paused>> {
        pause::paused(&self.readers).await.map_err(told)
    }

    async fn hosts(&self) -> Result<Vec<HostSeen>> {
        hosts::hosts(&self.readers).await.map_err(told)
    }

    async fn audit(&self, deed: &Deed) -> Result<()> {
        deed.check(&self.options.limits)?;
        audit::record(&mut *self.writer.acquire().await.map_err(told)?, deed).await.map_err(told)
    }

    async fn audit_log(&self, page: &AuditPage) -> Result<Vec<AuditEntry>> {
        let limit = page.size(&self.options.limits);
        audit::page(&self.readers, page, limit).await.map_err(told)
    }

    async fn add_token(&self, token: &NewToken, actor: Option<&str>) -> Result<TokenId> {
        token.check(&self.options.limits)?;
        let deed = Deed::new(actor, "add", format_args!("token {}", token.name));
        deed.check(&self.options.limits)?;
        tokens::add(&self.writer, token, &deed).await.map_err(told)?.ok_or_else(|| token.taken())
    }

    async fn tokens(&self) -> Result<Vec<Token>> {
        tokens::tokens(&self.readers).await.map_err(told)
    }

    async fn revoke_token(&self, id: TokenId, actor: Option<&str>) -> Result<bool> {
        self.options.limits.check_actor(actor)?;
        tokens::revoke(&self.writer, id, actor).await.map_err(told)
    }

    async fn token_by_hash(&self, sha256: &[u8; 32]) -> Result<Option<Token>> {
        let found = tokens::find(&self.readers, sha256).await.map_err(told)?;
        if let Some((found, true)) = &found
            // Nobody is shut out because the store cannot write now.
            && let Err(error) = tokens::used(&self.writer, found.id).await
        {
            tracing::debug!(%error, "the use of a token was not noted");
        }
        Ok(found.map(|(token, _)| token))
    }

    async fn delete_finished(&self, fence: Option<Fence>, older_than: Duration, limit: u32) -> Result<Option<u64>> {
        retention::delete_finished(&self.writer, fence, older_than, limit).await.map_err(told)
    }

    async fn get(&self, id: ItemId) -> Result<Option<WorkItem>> {
        read::get(&self.readers, id).await.map_err(told)
    }

    async fn attempts(&self, id: ItemId) -> Result<Vec<AttemptRecord>> {
        attempts::attempts(&self.readers, id).await.map_err(told)
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<WorkItem>> {
        read::list(&self.readers, filter, self.options.limits.list_items).await.map_err(told)
    }

    async fn changes_since(&self, cursor: Option<Cursor>, limit: u32) -> Result<Changes> {
        let limit = Filter { limit, ..Filter::default() }.page(self.options.limits.list_items);
        changes::changes_since(&self.readers, cursor, limit).await.map_err(told)
    }

    async fn counts(&self) -> Result<Vec<Count>> {
        read::counts(&self.readers).await.map_err(told)
    }
}
