//! Databases of a test's own.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgPool, SqliteConnection, SqlitePool};

/// Which sort of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Sqlite,
    Postgres,
}

/// Makes an empty database and answers its URL. PostgreSQL ones go with the private server.
pub(super) async fn create(store: Store, folder: &Path, name: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    match store {
        Store::Sqlite => format!("sqlite://{}", folder.join(format!("{name}.db")).display()),
        Store::Postgres => {
            let server = std::env::var("WORKHOST_TEST_POSTGRES").expect("no PostgreSQL server: run `cargo xtask test`");
            let database = format!("daemon_{}_{}_{name}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let mut connection = PgConnection::connect(&server).await.unwrap();
            sqlx::raw_sql(AssertSqlSafe(format!("create database {database}"))).execute(&mut connection).await.unwrap();
            let (path, query) =
                server.split_once('?').map_or((server.as_str(), None), |(path, query)| (path, Some(query)));
            let base = path.rsplit_once('/').unwrap().0;
            query.map_or(format!("{base}/{database}"), |query| format!("{base}/{database}?{query}"))
        }
    }
}

/// The application's database.
pub(crate) struct AppDatabase {
    pub(crate) url: String,
    pub(crate) store: Store,
    pool: Pool,
}

enum Pool {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

impl AppDatabase {
    pub(super) async fn create(store: Store, folder: &Path) -> AppDatabase {
        let url = create(store, folder, "app").await;
        let pool = match store {
            Store::Sqlite => {
                std::fs::File::create(folder.join("app.db")).unwrap();
                Pool::Sqlite(SqlitePool::connect(&url).await.unwrap())
            }
            Store::Postgres => Pool::Postgres(PgPool::connect(&url).await.unwrap()),
        };
        AppDatabase { url, store, pool }
    }

    /// Runs statements.
    pub(crate) async fn execute(&self, sql: &str) {
        let sql = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        match &self.pool {
            Pool::Sqlite(pool) => drop(sql.execute(pool).await.unwrap()),
            Pool::Postgres(pool) => drop(sql.execute(pool).await.unwrap()),
        }
    }

    /// The one column of each row, as text.
    pub(crate) async fn texts(&self, sql: &str) -> Vec<String> {
        let sql = AssertSqlSafe(sql.to_owned());
        match &self.pool {
            Pool::Sqlite(pool) => sqlx::query_scalar(sql).fetch_all(pool).await.unwrap(),
            Pool::Postgres(pool) => sqlx::query_scalar(sql).fetch_all(pool).await.unwrap(),
        }
    }
}

/// Moves the times of a finished item back by so many days: tests move rows, never the clock.
pub(super) async fn age(store_url: &str, id: i64, days: u32) {
    if store_url.starts_with("sqlite:") {
        let mut connection = SqliteConnection::connect(store_url).await.unwrap();
        let moved = "update work_items set created_at = created_at - $1, started_at = started_at - $1,
            updated_at = updated_at - $1, finished_at = finished_at - $1 where id = $2";
        let milliseconds = i64::from(days) * 86_400_000;
        sqlx::query(moved).bind(milliseconds).bind(id).execute(&mut connection).await.unwrap();
    } else {
        let mut connection = PgConnection::connect(store_url).await.unwrap();
        let moved = "update workhost.work_items set created_at = created_at - $1, started_at = started_at - $1,
            updated_at = updated_at - $1, finished_at = finished_at - $1 where id = $2";
        let interval = Duration::from_secs(u64::from(days) * 86_400);
        sqlx::query(moved).bind(interval).bind(id).execute(&mut connection).await.unwrap();
    }
}

/// Makes a queued item due: tests move rows, never the clock.
pub(super) async fn make_due(store_url: &str, id: i64) {
    let moved = "update work_items set run_at = created_at where id = $1 and status = 'queued'";
    let changed = if store_url.starts_with("sqlite:") {
        let mut connection = SqliteConnection::connect(store_url).await.unwrap();
        sqlx::query(moved).bind(id).execute(&mut connection).await.unwrap().rows_affected()
    } else {
        sqlx::query(moved).bind(id).execute(&mut in_schema(store_url).await).await.unwrap().rows_affected()
    };
    assert_eq!(changed, 1);
}

/// Runs statements in a store.
pub(super) async fn execute(store_url: &str, sql: &str) {
    let sql = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
    if store_url.starts_with("sqlite:") {
        sql.execute(&mut SqliteConnection::connect(store_url).await.unwrap()).await.unwrap();
    } else {
        sql.execute(&mut in_schema(store_url).await).await.unwrap();
    }
}

/// The number that a query answers in a store. The connection is closed before: whoever waits for a number asks often.
pub(super) async fn count(store_url: &str, query: &str) -> i64 {
    let query = AssertSqlSafe(query.to_owned());
    if store_url.starts_with("sqlite:") {
        let mut connection = SqliteConnection::connect(store_url).await.unwrap();
        let number = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        number
    } else {
        let mut connection = in_schema(store_url).await;
        let number = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        number
    }
}

/// Gives a running item to a later attempt of another host, and answers what a query answers in the same transaction.
pub(super) async fn take_away(store_url: &str, id: i64, query: &str) -> i64 {
    let (take, query) = (
        "update work_items set attempt = attempt + 1, host = 'another/1' where id = $1 and status = 'running'",
        AssertSqlSafe(query.to_owned()),
    );
    if store_url.starts_with("sqlite:") {
        let mut connection = SqliteConnection::connect(store_url).await.unwrap();
        let mut tx = connection.begin_with("begin immediate").await.unwrap();
        let taken = sqlx::query(take).bind(id).execute(&mut *tx).await.unwrap();
        assert_eq!(taken.rows_affected(), 1);
        let number = sqlx::query_scalar(query).fetch_one(&mut *tx).await.unwrap();
        tx.commit().await.unwrap();
        number
    } else {
        let mut connection = in_schema(store_url).await;
        let mut tx = connection.begin().await.unwrap();
        let taken = sqlx::query(take).bind(id).execute(&mut *tx).await.unwrap();
        assert_eq!(taken.rows_affected(), 1);
        let number = sqlx::query_scalar(query).fetch_one(&mut *tx).await.unwrap();
        tx.commit().await.unwrap();
        number
    }
}

pub(super) async fn in_schema(store_url: &str) -> PgConnection {
    let options: PgConnectOptions = store_url.parse().unwrap();
    let options = options.application_name(super::TESTS).options([("search_path", "workhost")]);
    PgConnection::connect_with(&options).await.unwrap()
}
