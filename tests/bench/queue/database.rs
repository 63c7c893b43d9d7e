//! A store that is made for one measurement.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use clap::ValueEnum;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool, SqlitePool};
use workhost_queue::{ConnectOptions, Queue, connect};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Engine::Sqlite => "SQLite",
            Engine::Postgres => "PostgreSQL",
        })
    }
}

/// A migrated store, and a way past the queue into its tables.
pub(crate) struct Database {
    pub(crate) engine: Engine,
    /// The hosts that use it. A SQLite file has one process, so there both are the same.
    pub(crate) hosts: [Arc<dyn Queue>; 2],
    url: String,
    raw: Raw,
}

enum Raw {
    Postgres(PgPool),
    Sqlite { pool: SqlitePool, _folder: tempfile::TempDir },
}

impl Database {
    pub(crate) async fn new(engine: Engine) -> Database {
        let (url, raw) = match engine {
            Engine::Postgres => {
                let url = create().await;
                let raw = PgPoolOptions::new().max_connections(2).connect_lazy(&url).unwrap();
                (url, Raw::Postgres(raw))
            }
            Engine::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("queue.db");
                let options = SqliteConnectOptions::new().filename(&path).busy_timeout(Duration::from_secs(60));
                let pool = SqlitePool::connect_lazy_with(options);
                (format!("sqlite://{}", path.display()), Raw::Sqlite { pool, _folder: folder })
            }
        };
        let host = async || connect(&url, ConnectOptions::default()).await.unwrap();
        let first = host().await;
        first.migrate().await.unwrap();
        let second = if engine == Engine::Postgres { host().await } else { Arc::clone(&first) };
        Database { engine, hosts: [first, second], url, raw }
    }

    /// Runs SQL.
    pub(crate) async fn sql(&self, statements: &str) {
        let statements = AssertSqlSafe(statements);
        match &self.raw {
            Raw::Postgres(pool) => drop(sqlx::raw_sql(statements).execute(pool).await.unwrap()),
            Raw::Sqlite { pool, .. } => drop(sqlx::raw_sql(statements).execute(pool).await.unwrap()),
        }
    }

    /// Opens a transaction that reads, and keeps it open until the answer is dropped.
    pub(crate) async fn hold(&self) -> Held {
        let begin = "begin isolation level repeatable read; select count(*) from workhost.hosts";
        match &self.raw {
            Raw::Postgres(_) => {
                let mut connection = PgConnection::connect(&self.url).await.unwrap();
                sqlx::raw_sql(begin).execute(&mut connection).await.unwrap();
                Held { _postgres: Some(connection), _sqlite: None }
            }
            Raw::Sqlite { pool, .. } => {
                let mut connection = pool.acquire().await.unwrap();
                sqlx::raw_sql("begin; select count(*) from hosts").execute(&mut *connection).await.unwrap();
                Held { _postgres: None, _sqlite: Some(connection.detach()) }
            }
        }
    }

    pub(crate) async fn remove(self) {
        drop(self.hosts);
        match self.raw {
            Raw::Postgres(pool) => {
                pool.close().await;
                let (_, name) = self.url.rsplit_once('/').unwrap();
                admin(&format!("drop database {name} with (force)")).await;
            }
            Raw::Sqlite { pool, .. } => pool.close().await,
        }
    }
}

/// A session with an open transaction.
pub(crate) struct Held {
    _postgres: Option<PgConnection>,
    _sqlite: Option<sqlx::SqliteConnection>,
}

async fn create() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("bench_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    admin(&format!("create database {name}")).await;
    let (base, _) = server().rsplit_once('/').map(|(base, name)| (base.to_owned(), name.to_owned())).unwrap();
    format!("{base}/{name}")
}

async fn admin(statement: &str) {
    let mut connection = PgConnection::connect(&server()).await.expect("the PostgreSQL server answers");
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
}

fn server() -> String {
    std::env::var("WORKHOST_TEST_POSTGRES")
        .expect("WORKHOST_TEST_POSTGRES names no PostgreSQL server: run `cargo xtask bench`, or pass `--store sqlite`")
}
