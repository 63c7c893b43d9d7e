//! A SQLite database in memory behind a handler's statements.
//!
//! ```
//! use workhost_sdk::sql::Value;
//! use workhost_sdk::testing::sqlite::Database;
//!
//! let database = Database::new(
//!     "create table tokens (name text)",
//!     "[handlers.sql.add-token]\nstatement = 'insert into tokens (name) values ($1)'",
//! );
//! let mut add = database.answers();
//! assert_eq!(add("add-token", &["a".into()]), Ok(1));
//! assert_eq!(database.rows("select name from tokens"), [["a".into()]]);
//! ```

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use serde::Deserialize;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Connection, Row, TypeInfo, ValueRef};
use tokio::runtime::{Builder, Runtime};

use crate::Timestamp;
use crate::sql::{Error, Value};

/// A database, and the statements that are granted on it. Clones are the same database.
#[derive(Clone)]
pub struct Database(Rc<RefCell<Open>>);

struct Open {
    runtime: Runtime,
    connection: SqliteConnection,
    statements: HashMap<String, String>,
}

/// As much of a configuration as names statements.
#[derive(Deserialize)]
struct Grants {
    handlers: Handlers,
}

#[derive(Deserialize)]
struct Handlers {
    sql: HashMap<String, Statement>,
}

#[derive(Deserialize)]
struct Statement {
    statement: String,
}

impl Database {
    /// A database with this schema. The grants are a piece of configuration (TOML) with a table
    /// `[handlers.sql.NAME]` for each statement.
    ///
    /// # Panics
    /// If the schema or the grants are not valid.
    pub fn new(schema: &str, grants: &str) -> Self {
        let grants: Grants = toml::from_str(grants).expect("the grants are a piece of configuration");
        let statements = grants.handlers.sql.into_iter().map(|(name, granted)| (name, granted.statement)).collect();
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let connection = runtime.block_on(async {
            let mut connection = SqliteConnection::connect("sqlite::memory:").await?;
            sqlx::raw_sql(AssertSqlSafe(schema.to_owned())).execute(&mut connection).await?;
            Ok::<_, sqlx::Error>(connection)
        });
        let connection = connection.expect("the schema is valid");
        Database(Rc::new(RefCell::new(Open { runtime, connection, statements })))
    }

    /// What [`Host::execute`](super::Host::execute) takes: runs the granted statements on this database.
    pub fn answers(&self) -> impl FnMut(&str, &[Value]) -> Result<u64, Error> + 'static {
        let database = self.clone();
        move |name, params| {
            let open = &mut *database.0.borrow_mut();
            let statement = open.statements.get(name).cloned();
            let statement = statement.ok_or_else(|| Error::NotGranted(format!("statement `{name}` is not granted")))?;
            let query = params.iter().fold(sqlx::query(AssertSqlSafe(statement)), bind);
            let done = open.runtime.block_on(query.execute(&mut open.connection));
            done.map(|done| done.rows_affected()).map_err(|error| Error::Refused(error.to_string()))
        }
    }

    /// The rows of any query, for a test to look at.
    ///
    /// # Panics
    /// If the query is not valid.
    pub fn rows(&self, sql: &str) -> Vec<Vec<Value>> {
        let open = &mut *self.0.borrow_mut();
        let query = sqlx::query(AssertSqlSafe(sql.to_owned()));
        let rows = open.runtime.block_on(query.fetch_all(&mut open.connection));
        rows.expect("the query is valid")
            .iter()
            .map(|row| (0..row.len()).map(|column| value(row, column)).collect())
            .collect()
    }
}

fn bind<'q>(query: Query<'q, Sqlite, SqliteArguments>, value: &Value) -> Query<'q, Sqlite, SqliteArguments> {
    match value.clone() {
        Value::Null => query.bind(None::<String>),
        Value::Boolean(value) => query.bind(value),
        Value::Integer(value) => query.bind(value),
        Value::Float(value) => query.bind(value),
        Value::Bytes(value) => query.bind(value),
        Value::Text(value) | Value::Uuid(value) | Value::Json(value) => query.bind(value),
        Value::Timestamp(micros) => query.bind(Timestamp::from_micros(micros).to_sqlite_text()),
    }
}

fn value(row: &SqliteRow, column: usize) -> Value {
    let raw = row.try_get_raw(column).expect("the row has this column");
    match raw.type_info().name() {
        _ if raw.is_null() => Value::Null,
        "INTEGER" => Value::Integer(row.get(column)),
        "REAL" => Value::Float(row.get(column)),
        "BLOB" => Value::Bytes(row.get(column)),
        _ => Value::Text(row.get(column)),
    }
}
