//! A fresh store for each test, on PostgreSQL and on SQLite.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool, SqlitePool};
use workhost_queue::{
    Claim, ClaimRequest, ConnectOptions, Enqueued, ItemId, Json, KindSlots, LastChances, NewItem, Queue, Result,
    WorkItem, connect,
};

/// Which database a test runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Postgres,
    Sqlite,
}

/// A store of one test, migrated, and a way past the queue into its tables.
pub(crate) struct TestStore {
    /// The queue as the first host sees it.
    pub(crate) queue: Arc<dyn Queue>,
    pub(crate) engine: Engine,
    pub(crate) url: String,
    raw: Raw,
}

enum Raw {
    Postgres(PgPool),
    /// With the folder of its file, which is removed when this is dropped.
    Sqlite {
        pool: SqlitePool,
        _folder: tempfile::TempDir,
    },
}

/// States a behaviour once: makes the tests `name::postgres` and `name::sqlite`.
macro_rules! contract {
    ($(async fn $name:ident($store:ident) $body:block)*) => { $(
        mod $name {
            #[allow(unused_imports, reason = "a body may name nothing from outside")]
            use super::*;
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                crate::store::run(crate::store::Engine::Postgres, |$store| async move { $body }).await;
            }
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                crate::store::run(crate::store::Engine::Sqlite, |$store| async move { $body }).await;
            }
        }
    )* };
}
pub(crate) use contract;

/// States what only one engine can show: real races, or a file.
macro_rules! contract_on {
    ($engine:ident: $(async fn $name:ident($store:ident) $body:block)*) => { $(
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        async fn $name() {
            crate::store::run(crate::store::Engine::$engine, |$store| async move { $body }).await;
        }
    )* };
}
pub(crate) use contract_on;

/// Runs a test's body on a fresh store, and removes the store whatever came of it.
pub(crate) async fn run<F>(engine: Engine, body: impl FnOnce(Arc<TestStore>) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let store = Arc::new(TestStore::new(engine).await);
    store.queue.migrate().await.unwrap();
    let outcome = tokio::spawn(body(Arc::clone(&store))).await;
    store.remove().await;
    if let Err(failed) = outcome {
        std::panic::resume_unwind(failed.into_panic());
    }
}

impl TestStore {
    /// A store without a schema.
    pub(crate) async fn new(engine: Engine) -> TestStore {
        let (url, raw) = match engine {
            Engine::Postgres => {
                let url = create_database().await;
                let options: PgConnectOptions = url.parse().unwrap();
                let options = options.options([("search_path", "workhost")]);
                (url, Raw::Postgres(PgPoolOptions::new().max_connections(8).connect_lazy_with(options)))
            }
            Engine::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("queue.db");
                let options = SqliteConnectOptions::new().filename(&path).busy_timeout(Duration::from_secs(10));
                (
                    format!("sqlite://{}", path.display()),
                    Raw::Sqlite { pool: SqlitePool::connect_lazy_with(options), _folder: folder },
                )
            }
        };
        let queue = connect(&url, ConnectOptions::default()).await.unwrap();
        TestStore { queue, engine, url, raw }
    }

    /// The queue as one more host sees it.
    pub(crate) async fn host(&self) -> Arc<dyn Queue> {
        self.host_with(ConnectOptions::default()).await
    }

    pub(crate) async fn host_with(&self, options: ConnectOptions) -> Arc<dyn Queue> {
        connect(&self.url, options).await.unwrap()
    }

    /// The raw pool, for what only PostgreSQL can show.
    pub(crate) fn pg(&self) -> &PgPool {
        match &self.raw {
            Raw::Postgres(pool) => pool,
            Raw::Sqlite { .. } => panic!("not on PostgreSQL"),
        }
    }

    /// Runs SQL that both engines understand.
    pub(crate) async fn sql(&self, statement: impl Into<String>) {
        self.try_sql(statement).await.unwrap();
    }

    /// The same, where the store may refuse it.
    pub(crate) async fn try_sql(&self, statement: impl Into<String>) -> sqlx::Result<()> {
        let statement = AssertSqlSafe(statement.into());
        match &self.raw {
            Raw::Postgres(pool) => sqlx::raw_sql(statement).execute(pool).await.map(drop),
            Raw::Sqlite { pool, .. } => sqlx::raw_sql(statement).execute(pool).await.map(drop),
        }
    }

    /// Reads one number with SQL that both engines understand.
    pub(crate) async fn number(&self, query: impl Into<String>) -> i64 {
        let query = AssertSqlSafe(query.into());
        match &self.raw {
            Raw::Postgres(pool) => sqlx::query_scalar(query).fetch_one(pool).await.unwrap(),
            Raw::Sqlite { pool, .. } => sqlx::query_scalar(query).fetch_one(pool).await.unwrap(),
        }
    }

    /// Moves a time of an item back: tests move rows, never the clock.
    pub(crate) async fn age(&self, id: ItemId, column: &str, by: Duration) {
        self.age_row("work_items", &format!("id = {id}"), column, by).await;
    }

    /// The same in any table, for the row of which this is true.
    pub(crate) async fn age_row(&self, table: &str, which: &str, column: &str, by: Duration) {
        let by = match self.engine {
            Engine::Postgres => format!("{} * interval '1 millisecond'", by.as_millis()),
            Engine::Sqlite => by.as_millis().to_string(),
        };
        self.sql(format!("update {table} set {column} = {column} - {by} where {which}")).await;
    }

    /// Lets the lease of an item run out, as if its host had gone long ago.
    pub(crate) async fn expire(&self, id: ItemId) {
        self.age(id, "lease_expires_at", Duration::from_secs(3600)).await;
    }

    /// Makes the store refuse to change items of a kind, as a person's trigger or a full disk might.
    pub(crate) async fn refuse_updates_of(&self, kind: &str) {
        self.sql(match self.engine {
            Engine::Postgres => format!(
                "create function refuse() returns trigger language plpgsql as $$ begin
                    if new.kind = '{kind}' then raise exception 'refused'; end if;
                    return new;
                end $$;
                create trigger refuse before update on work_items for each row execute function refuse()"
            ),
            Engine::Sqlite => format!(
                "create trigger refuse before update on work_items when new.kind = '{kind}'
                begin select raise(abort, 'refused'); end"
            ),
        })
        .await;
    }

    /// Undoes [`TestStore::refuse_updates_of`].
    pub(crate) async fn refuse_no_more(&self) {
        self.sql(match self.engine {
            Engine::Postgres => "drop trigger refuse on work_items",
            Engine::Sqlite => "drop trigger refuse",
        })
        .await;
    }

    pub(crate) async fn enqueue(&self, item: NewItem) -> ItemId {
        self.queue.enqueue(&[item]).await.unwrap()[0].id()
    }

    /// Claims one item of a kind, as the host `a`.
    pub(crate) async fn claim(&self, kind: &str) -> Option<Claim> {
        let mut claims = self.queue.claim(&ask("a", &[(kind, 1)])).await.unwrap();
        assert!(claims.len() <= 1, "one slot was asked for");
        claims.pop()
    }

    /// Enqueues an item and claims it.
    pub(crate) async fn running(&self, item: NewItem) -> Claim {
        let kind = item.kind.clone();
        let id = self.enqueue(item).await;
        let claim = self.claim(&kind).await.expect("the item is due");
        assert_eq!(claim.item.id, id);
        claim
    }

    pub(crate) async fn get(&self, id: ItemId) -> WorkItem {
        self.queue.get(id).await.unwrap().expect("the item exists")
    }

    /// Removes the store; on SQLite its files go when this is dropped.
    pub(crate) async fn remove(&self) {
        match &self.raw {
            Raw::Postgres(pool) => {
                pool.close().await;
                let options: PgConnectOptions = self.url.parse().unwrap();
                let name = options.get_database().unwrap();
                admin(&format!("drop database if exists {name} with (force)")).await;
            }
            Raw::Sqlite { pool, .. } => pool.close().await,
        }
    }
}

/// The URL of a new database on the private server.
async fn create_database() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let server = server();
    let name = format!("contract_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    admin(&format!("create database {name}")).await;
    let (base, options) = server.split_once('?').map_or((server.as_str(), None), |(base, o)| (base, Some(o)));
    let (base, _) = base.rsplit_once('/').expect("the URL names a maintenance database");
    match options {
        Some(options) => format!("{base}/{name}?{options}"),
        None => format!("{base}/{name}"),
    }
}

/// The URL of the private server. Its absence fails the test: nothing passes without having run.
fn server() -> String {
    std::env::var("WORKHOST_TEST_POSTGRES")
        .expect("WORKHOST_TEST_POSTGRES names no private PostgreSQL server: run `cargo xtask test`")
}

async fn admin(statement: &str) {
    let mut connection = PgConnection::connect(&server()).await.expect("the private PostgreSQL server answers");
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// An item of a kind with an empty payload.
pub(crate) fn new(kind: &str) -> NewItem {
    NewItem::new(kind, json("{}"))
}

pub(crate) fn keyed(kind: &str, key: &str) -> NewItem {
    NewItem { dedup_key: Some(key.to_owned()), ..new(kind) }
}

pub(crate) fn scoped(kind: &str, scope: &str) -> NewItem {
    NewItem { scope: Some(scope.to_owned()), ..new(kind) }
}

pub(crate) fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

pub(crate) const LEASE: Duration = Duration::from_secs(60);

/// A request of a host for as many items as it has slots.
pub(crate) fn ask(host: &str, kinds: &[(&str, u32)]) -> ClaimRequest {
    ClaimRequest {
        host: host.to_owned(),
        kinds: kinds
            .iter()
            .map(|&(kind, slots)| KindSlots { kind: kind.to_owned(), slots, handler_digest: format!("sha256:{kind}") })
            .collect(),
        scopes: None,
        limit: kinds.iter().map(|&(_, slots)| slots).sum(),
        lease: LEASE,
        last_chances: LastChances::default(),
    }
}

pub(crate) fn ids(claims: &[Claim]) -> Vec<ItemId> {
    claims.iter().map(|claim| claim.item.id).collect()
}

pub(crate) fn created(answers: &Result<Vec<Enqueued>>) -> usize {
    answers.as_ref().unwrap().iter().filter(|answer| answer.created().is_some()).count()
}
