//! A named pool on an application's database.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};

use crate::limits::SQL_TIME;

/// Connections per database and host. Statements are short, and the application needs the rest.
pub(super) const CONNECTIONS: u32 = 8;
/// How long an attempt waits for a free connection, or for a new one, before it is told `unavailable`.
pub(super) const ACQUIRE: Duration = Duration::from_secs(5);
/// How long SQLite waits for another writer.
const BUSY: Duration = Duration::from_secs(5);
/// How long a transaction on PostgreSQL may wait for its commit, which follows at once where the host is well. A host
/// that stood still, or that the network forgot, holds no locks and commits nothing later.
const IDLE: Duration = Duration::from_secs(5);

/// A database of the application, by name. Cheap to clone; its URL is never shown.
#[derive(Clone)]
pub struct Database {
    name: Arc<str>,
    pub(super) pool: Pool,
    /// Whether its own URL says that nothing can be written.
    read_only: bool,
}

/// The two kinds of database that there are.
#[derive(Clone)]
pub(super) enum Pool {
    Postgres(PgPool),
    Sqlite(SqlitePool),
}

/// Tables that a connection could change, and the statement or setting that takes that right away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writable {
    /// Their names.
    pub tables: Vec<String>,
    /// The mend, for people.
    pub mend: String,
}

/// Why a database cannot be used. Texts are free of its URL.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The URL has another scheme.
    #[error("database `{name}`: the URL must begin with `postgres://` or `sqlite://`")]
    Scheme {
        /// The database's name.
        name: String,
    },
    /// The URL makes no sense.
    #[error("database `{name}`: the URL cannot be read: {reason}")]
    Url {
        /// The database's name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The SQLite file is not there; it is the application's to create.
    #[error("database `{name}`: {} does not exist", path.display())]
    NoFile {
        /// The database's name.
        name: String,
        /// The file.
        path: PathBuf,
    },
}

impl Database {
    /// A pool on a PostgreSQL database, or on an existing SQLite file. Connects when a connection is first
    /// needed, so an unreachable server is found when statements are prepared.
    pub async fn connect(name: &str, url: &str) -> Result<Database, DatabaseError> {
        let pool = match url.split_once(':').map(|(scheme, _)| scheme) {
            Some("postgres" | "postgresql") => Pool::Postgres(postgres(name, url)?),
            Some("sqlite") => Pool::Sqlite(sqlite(name, url)?),
            _ => return Err(DatabaseError::Scheme { name: name.into() }),
        };
        let read_only = matches!(pool, Pool::Sqlite(_)) && (url.contains("mode=ro") || url.contains("immutable=true"));
        Ok(Database { name: name.into(), pool, read_only })
    }

    /// Which tables a statement on this database could change: in PostgreSQL those of this schema, in SQLite those of these
    /// names, where all are there. `None` if there are none, or if the database cannot be asked: that shows when statements
    /// are prepared.
    pub async fn writable(&self, schema: &str, tables: &[&str]) -> Option<Writable> {
        match &self.pool {
            _ if self.read_only => None,
            Pool::Postgres(pool) => super::postgres::writable(pool, schema).await,
            Pool::Sqlite(pool) => super::sqlite::writable(pool, tables).await,
        }
    }

    /// Its name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Database").field(&self.name).finish()
    }
}

fn postgres(name: &str, url: &str) -> Result<PgPool, DatabaseError> {
    let mut options = PgConnectOptions::from_str(url).map_err(|error| unreadable(name, &error))?;
    if options.get_application_name().is_none() {
        options = options.application_name("workhost");
    }
    let pool =
        PgPoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(ACQUIRE).after_connect(|connection, _| {
            Box::pin(async move {
                // The server ends a statement by itself when it is over time, a transaction that nobody commits…
                let timeouts = format!(
                    "set statement_timeout = {}; set idle_in_transaction_session_timeout = {}",
                    SQL_TIME.as_millis(),
                    IDLE.as_millis()
                );
                sqlx::raw_sql(sqlx::AssertSqlSafe(timeouts)).execute(&mut *connection).await?;
                // …and a statement whose attempt was ended, which closes the connection. Some servers cannot do this.
                let _ = sqlx::raw_sql("set client_connection_check_interval = 1000").execute(&mut *connection).await;
                Ok(())
            })
        });
    // The `begin` of each statement asks that already.
    Ok(pool.test_before_acquire(false).connect_lazy_with(options))
}

fn sqlite(name: &str, url: &str) -> Result<SqlitePool, DatabaseError> {
    let options = SqliteConnectOptions::from_str(url)
        .map_err(|error| unreadable(name, &error))?
        .create_if_missing(false)
        .busy_timeout(BUSY);
    let path = options.get_filename();
    if url.contains(":memory:") || url.contains("mode=memory") {
        return Err(DatabaseError::Url {
            name: name.into(),
            reason: "a database in memory has no content of the application's".into(),
        });
    }
    if !path.is_file() {
        return Err(DatabaseError::NoFile { name: name.into(), path: path.into() });
    }
    let pool = SqlitePoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(ACQUIRE);
    Ok(pool.test_before_acquire(false).connect_lazy_with(options))
}

fn unreadable(name: &str, error: &sqlx::Error) -> DatabaseError {
    DatabaseError::Url { name: name.into(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_has_all_tables_can_be_written_unless_it_is_opened_to_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("app.db").display());
        let made = SqlitePool::connect(&format!("{url}?mode=rwc")).await.unwrap();
        sqlx::raw_sql("create table a (x); create table b (x); create table c (x)").execute(&made).await.unwrap();
        made.close().await;
        for (more, tables, writable) in [
            ("", ["a", "b"], true),
            ("", ["a", "d"], false),
            ("?mode=ro", ["a", "b"], false),
            ("?immutable=true", ["a", "b"], false),
        ] {
            let database = Database::connect("app", &format!("{url}{more}")).await.unwrap();
            assert_eq!(database.writable("", &tables).await.is_some(), writable, "{more} {tables:?}");
        }
    }

    #[tokio::test]
    async fn a_url_that_makes_no_sense_is_told_without_showing_it() {
        for url in [
            "mysql://u:geheim@h/d",
            "geheim",
            "postgres://u:geheim@h:port/d",
            "sqlite::memory:",
            "sqlite:///geheim?mode=quick",
        ] {
            let error = Database::connect("app", url).await.unwrap_err().to_string();
            assert!(error.contains("`app`") && !error.contains("geheim"), "{error}");
        }
        assert_eq!(
            format!("{:?}", Database::connect("app", "postgres://u:geheim@h/d").await.unwrap()),
            r#"Database("app")"#
        );
    }

    #[tokio::test]
    async fn a_database_in_memory_is_refused_whatever_its_url() {
        for url in ["sqlite::memory:", "sqlite://app.db?mode=memory"] {
            let error = Database::connect("app", url).await.unwrap_err();
            assert!(matches!(error, DatabaseError::Url { .. }), "{url}: {error}");
        }
    }

    #[tokio::test]
    async fn a_missing_sqlite_file_is_not_created() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("app.db");
        let error = Database::connect("app", &format!("sqlite://{}", path.display())).await.unwrap_err();
        assert!(matches!(error, DatabaseError::NoFile { .. }), "{error}");
        assert!(!path.exists());
    }
}
