//! The queue on PostgreSQL 15 or newer.
//!
//! A verb is one statement where it can be, in one round trip. Statements that could wait for a row
//! skip it and try it alone, so that one locked row delays no other.

mod attempts;
mod audit;
mod cancel;
mod changes;
mod claim;
mod claimed;
mod connections;
mod enqueue;
mod fence;
mod finish;
mod heartbeat;
mod host_verbs;
mod hosts;
mod look;
mod migrate;
mod pause;
mod pool;
mod read;
mod recover;
mod retention;
mod schedule;
mod session;
mod tokens;
mod trouble;
mod wake;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::claiming::Hint;
use crate::{
    AttemptRecord, AuditEntry, AuditPage, CancelAnswer, Changes, ConnectOptions, Count, Cursor, Deed, Enqueued, Fence,
    Filter, HostSeen, ItemId, Migrated, NewItem, NewToken, Pausable, Paused, Pooler, Queue, Result, Serving, Token,
    TokenId, WorkItem,
};
use pool::Pool;
use trouble::retrying;

/// A queue whose items live in the schema `workhost` of a PostgreSQL database.
pub(crate) struct PostgresQueue {
    pool: Pool,
    /// What no other verb uses, so that a pool full of slow ones delays no heartbeat.
    heartbeats: Pool,
    /// How to open a connection apart from the pool.
    server: PgConnectOptions,
    options: ConnectOptions,
    /// Where the queued items begin.
    hint: Hint<String>,
    wake: Arc<Notify>,
    /// The listener, where there can be one; ends with this value.
    _listener: JoinSet<()>,
}

impl PostgresQueue {
    pub(crate) async fn open(url: &str, options: ConnectOptions) -> Result<PostgresQueue> {
        let server = session::server(url, &options)?;
        let pool = Pool::new(&server, &options, options.max_connections);
        let heartbeats = Pool::new(&server, &options, 1);
        session::check_server(&pool).await?;
        let wake = Arc::new(Notify::new());
        let listener = match options.pooler {
            Pooler::None => wake::listen(server.clone(), Arc::clone(&wake)),
            // What a pooler lends for one transaction cannot listen.
            Pooler::Transaction => JoinSet::new(),
        };
        Ok(PostgresQueue { pool, heartbeats, server, options, hint: Hint::default(), wake, _listener: listener })
    }
}

#[async_trait]
impl Queue for PostgresQueue {
    async fn migrate(&self) -> Result<Migrated> {
        session::check_server(&self.pool).await?;
        migrate::migrate(&self.server, self.options.pooler, self.options.migration_wait).await
    }

    async fn check(&self) -> Result<()> {
        session::check_server(&self.pool).await?;
        migrate::check(&self.pool).await
    }

    async fn serve(&self, _host: &str) -> Result<Serving> {
        Ok(Serving { _lock: None })
    }

    async fn close(&self) {
        // The server sees to what is left of a connection that ends.
    }

    async fn enqueue(&self, items: &[NewItem]) -> Result<Vec<Enqueued>> {
        self.options.limits.check_new(items)?;
        let answers = retrying(|| enqueue::enqueue(&self.pool, items)).await?;
        if answers.iter().any(|answer| answer.created().is_some()) {
            self.wake.notify_one();
        }
        Ok(answers)
    }

    async fn enqueue_by(&self, parent: Fence, items: &[NewItem]) -> Result<Option<Vec<Enqueued>>> {
        self.options.limits.check_new(items)?;
        let answers = retrying(|| enqueue::enqueue_by(&self.pool, parent, items)).await?;
        if answers.iter().flatten().any(|answer| answer.created().is_some()) {
            self.wake.notify_one();
        }
        Ok(answers)
    }

    async fn cancel_by(&self, id: ItemId, actor: Option<&str>) -> Result<CancelAnswer> {
        let deed = Deed::of_item(actor, "cancel", id);
        deed.check(&self.options.limits)?;
        retrying(|| cancel::cancel(&self.pool, id, &deed)).await
    }

    async fn pause(&self, work: &Pausable, actor: Option<&str>) -> Result<bool> {
        let deed = Deed::new(actor, "pause", work);
        work.check(&self.options.limits)?;
        deed.check(&self.options.limits)?;
        retrying(|| pause::pause(&self.pool, work, &deed)).await
    }

    async fn resume(&self, work: &Pausable, actor: Option<&str>) -> Result<bool> {
        let deed = Deed::new(actor, "resume", work);
        deed.check(&self.options.limits)?;
        let resumed = retrying(|| pause::resume(&self.pool, work, &deed)).await?;
        if resumed {
            self.wake.notify_one();
        }
        Ok(resumed)
    }

    async fn paused(&self) -> Result<Vec<Paused>> {
        retrying(|| pause::paused(&self.pool)).await
    }

    async fn hosts(&self) -> Result<Vec<HostSeen>> {
        retrying(|| hosts::hosts(&self.pool)).await
    }

    async fn audit(&self, deed: &Deed) -> Result<()> {
        deed.check(&self.options.limits)?;
        retrying(|| audit::record(&self.pool, deed)).await
    }

    async fn audit_log(&self, page: &AuditPage) -> Result<Vec<AuditEntry>> {
        let limit = page.size(&self.options.limits);
        retrying(|| audit::page(&self.pool, page, limit)).await
    }

    async fn add_token(&self, token: &NewToken, actor: Option<&str>) -> Result<TokenId> {
        token.check(&self.options.limits)?;
        let deed = Deed::new(actor, "add", format_args!("token {}", token.name));
        deed.check(&self.options.limits)?;
        retrying(|| tokens::add(&self.pool, token, &deed)).await?.ok_or_else(|| token.taken())
    }

    async fn tokens(&self) -> Result<Vec<Token>> {
        retrying(|| tokens::tokens(&self.pool)).await
    }

    async fn revoke_token(&self, id: TokenId, actor: Option<&str>) -> Result<bool> {
        self.options.limits.check_actor(actor)?;
        retrying(|| tokens::revoke(&self.pool, id, actor)).await
    }

    async fn token_by_hash(&self, sha256: &[u8; 32]) -> Result<Option<Token>> {
        let found = retrying(|| tokens::find(&self.pool, sha256)).await?;
        if let Some((found, true)) = &found
            // Nobody is shut out because the store cannot write now.
            && let Err(error) = tokens::used(&self.pool, found.id).await
        {
            tracing::debug!(%error, "the use of a token was not noted");
        }
        Ok(found.map(|(token, _)| token))
    }

    async fn delete_finished(&self, fence: Option<Fence>, older_than: Duration, limit: u32) -> Result<Option<u64>> {
        retrying(|| retention::delete_finished(&self.pool, fence, older_than, limit)).await
    }

    async fn get(&self, id: ItemId) -> Result<Option<WorkItem>> {
        retrying(|| read::get(&self.pool, id)).await
    }

    async fn attempts(&self, id: ItemId) -> Result<Vec<AttemptRecord>> {
        retrying(|| attempts::attempts(&self.pool, id)).await
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<WorkItem>> {
        retrying(|| read::list(&self.pool, filter, self.options.limits.list_items)).await
    }

    async fn changes_since(&self, cursor: Option<Cursor>, limit: u32) -> Result<Changes> {
        let limit = Filter { limit, ..Filter::default() }.page(self.options.limits.list_items);
        retrying(|| changes::changes_since(&self.pool, cursor, limit)).await
    }

    async fn counts(&self) -> Result<Vec<Count>> {
        retrying(|| read::counts(&self.pool)).await
    }
}
