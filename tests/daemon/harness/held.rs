//! Something of a database held by a transaction of the test's own: nobody else can write it meanwhile.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};
use workhost_queue::ItemId;

use super::{AppDatabase, Workshop, database};

/// Ends when it is let go, or dropped.
pub(crate) enum Held {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Held {
    /// On SQLite the whole file.
    async fn hold(url: &str, on_postgres: &str) -> Held {
        if url.starts_with("sqlite:") {
            let mut connection = SqliteConnection::connect(url).await.unwrap();
            sqlx::raw_sql("begin immediate").execute(&mut connection).await.unwrap();
            Held::Sqlite(connection)
        } else {
            let mut connection = database::in_schema(url).await;
            let sql = AssertSqlSafe(format!("begin; {on_postgres}"));
            sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
            Held::Postgres(connection)
        }
    }

    pub(crate) async fn let_go(self) {
        match self {
            Held::Sqlite(mut connection) => drop(sqlx::raw_sql("rollback").execute(&mut connection).await.unwrap()),
            Held::Postgres(mut connection) => drop(sqlx::raw_sql("rollback").execute(&mut connection).await.unwrap()),
        }
    }
}

impl Workshop {
    /// Holds these rows of the queue, so that no write of theirs is answered.
    pub(crate) async fn hold(&self, items: &[ItemId]) -> Held {
        let ids: Vec<_> = items.iter().map(ToString::to_string).collect();
        let rows = format!("select from work_items where id in ({}) for update", ids.join(", "));
        Held::hold(self.store_url(), &rows).await
    }
}

impl AppDatabase {
    /// Holds a table of the application's, so that no write to it is answered.
    pub(crate) async fn hold(&self, table: &str) -> Held {
        Held::hold(&self.url, &format!("lock table public.{table} in exclusive mode")).await
    }
}
