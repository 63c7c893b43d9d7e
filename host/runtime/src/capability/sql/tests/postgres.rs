//! Statements on PostgreSQL. They need a server of the tests' own, whose URL stands in
//! `WORKHOST_TEST_POSTGRES`, and run when asked for: `cargo test -p workhost-runtime -- --ignored`.

mod ended;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::super::database::{CONNECTIONS, Pool};
use super::super::sql::Host;
use super::super::*;
use super::{caller, error, grant_of, rows, same};
use crate::control::Control;

/// An application database, and a handler's grants on it.
struct App {
    url: String,
    control: Arc<Control>,
    limits: Limits,
}

impl App {
    async fn new(schema: &'static str) -> App {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let server = std::env::var("WORKHOST_TEST_POSTGRES").expect("it names a PostgreSQL server of the tests' own");
        let name = format!("runtime_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut connection = PgConnection::connect(&server).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(format!("create database {name}"))).execute(&mut connection).await.unwrap();
        let (path, query) = server.split_once('?').unwrap_or((&server, ""));
        let url = format!("{}/{name}?{query}", path.rsplit_once('/').unwrap().0);
        let mut connection = PgConnection::connect(&url).await.unwrap();
        sqlx::raw_sql(schema).execute(&mut connection).await.unwrap();
        App { url, control: Arc::default(), limits: Limits::default() }
    }

    async fn try_grant(&self, statements: &[(&str, &str)]) -> Result<SqlContext, LoadError> {
        let database = Database::connect("app", &self.url).await.unwrap();
        let grants = statements.iter().map(|(name, statement)| ((*name).to_owned(), grant_of(statement)));
        let databases = BTreeMap::from([("app".to_owned(), database)]);
        let statements = prepare(&grants.collect(), &databases, &self.limits).await?;
        Ok(SqlContext::new(caller(&self.control), Arc::new(statements), &self.limits))
    }

    async fn grant(&self, statements: &[(&str, &str)]) -> SqlContext {
        self.try_grant(statements).await.unwrap()
    }

    async fn refusal(&self, statement: &str) -> String {
        self.try_grant(&[("it", statement)]).await.err().expect("it was granted").to_string()
    }

    /// Waits until the server runs nothing for this database any more, at most three seconds.
    async fn is_idle(&self) -> bool {
        let mut connection = PgConnection::connect(&self.url).await.unwrap();
        let busy = "select count(*) from pg_stat_activity where datname = current_database() and state = 'active' and pid <> pg_backend_pid()";
        for _ in 0..30 {
            if sqlx::query_scalar::<_, i64>(busy).fetch_one(&mut connection).await.unwrap() == 0 {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        false
    }
}

const ALL: &str = "create table t (a bool, b int2, c int4, d int8, e float4, f float8, g text, h varchar(9), \
    i bytea, j timestamptz, k timestamp, l uuid, m json, n jsonb)";
const PUT: &str = "insert into t values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) returning *";

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn every_value_goes_in_and_comes_out() {
    let app = App::new(ALL).await;
    let mut sql = app.grant(&[("put", PUT)]).await;
    let values = vec![
        Value::Boolean(true),
        Value::Integer(i16::MIN.into()),
        Value::Integer(i32::MAX.into()),
        Value::Integer(i64::MIN),
        Value::Float(0.5),
        Value::Float(-1e300),
        Value::Text("é".into()),
        Value::Text("nine".into()),
        Value::Bytes(vec![0, 255]),
        Value::Timestamp(1_769_860_800_000_001),
        Value::Timestamp(-1),
        Value::Uuid("67e55044-10b1-426f-9247-bb680e5fe0c8".into()),
        Value::Json(r#"{"b": 12345678901234567890, "a":1}"#.into()),
        Value::Json(r#"[1, "x"]"#.into()),
    ];
    for _ in 0..2 {
        let out = rows(&mut sql, "put", values.clone()).await;
        assert!(out[0].iter().zip(&values).all(|(out, put)| same(out, put)), "{out:?}");
    }
    let nulls = vec![Value::Null; 14];
    let out = rows(&mut sql, "put", nulls).await;
    assert!(out[0].iter().all(|value| same(value, &Value::Null)), "{out:?}");
    assert_eq!(
        sql.query("put".into(), vec![Value::Null; 14]).await.unwrap().unwrap().columns.concat(),
        "abcdefghijklmn"
    );
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn a_value_of_another_type_is_invalid_and_the_parameter_named() {
    let app = App::new("create table t (small int2, at timestamptz)").await;
    let mut sql = app.grant(&[("put", "insert into t values ($1, $2) returning *"), ("text", "select $1::text")]).await;
    let wrong = [
        (vec![Value::Text("1".into()), Value::Null], "parameter 1: text was given, the statement wants int2"),
        (vec![Value::Integer(40_000), Value::Null], "parameter 1: the integer does not fit the type int2"),
        (vec![Value::Null, Value::Integer(0)], "parameter 2: integer was given, the statement wants timestamp"),
        (vec![Value::Null, Value::Timestamp(i64::MIN)], "parameter 2: the time lies too far in the past"),
        (vec![Value::Null], "the statement takes 2 parameters, 1 were given"),
    ];
    for (params, words) in wrong {
        let error = error(&mut sql, "put", params).await;
        assert!(matches!(&error, SqlError::Invalid(reason) if reason == words), "{error:?}");
    }
    assert!(matches!(error(&mut sql, "text", vec![Value::Text("\0".into())]).await, SqlError::Invalid(_)));
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn an_infinite_time_is_invalid() {
    let past = "select '-infinity'::timestamptz as at";
    let future = "select 'infinity'::timestamptz as at";
    let mut sql = App::new("").await.grant(&[("past", past), ("future", future)]).await;
    for name in ["past", "future"] {
        let error = error(&mut sql, name, vec![]).await;
        assert!(matches!(&error, SqlError::Invalid(reason) if reason.starts_with("column `at`")), "{error:?}");
    }
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn what_cannot_be_granted_is_told_in_words() {
    let app = App::new("create table t (n numeric)").await;
    assert!(app.refusal("insert into t values ($1)").await.ends_with("write `$1::text::numeric`"));
    assert!(app.refusal("select n from t").await.contains("column `n` is of type numeric"));
    assert!(app.refusal("select 1; select 2").await.contains("multiple commands"));
    assert!(app.refusal("select * from nowhere").await.contains("\"nowhere\" does not exist"));
    app.grant(&[("cast", "insert into t values ($1::text::numeric)")]).await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn a_violated_constraint_is_refused_in_the_databases_words() {
    let mut sql = App::new("create table t (v int unique)").await.grant(&[("put", "insert into t values ($1)")]).await;
    assert_eq!(sql.execute("put".into(), vec![Value::Integer(1)]).await.unwrap().unwrap(), 1);
    let refused = sql.execute("put".into(), vec![Value::Integer(1)]).await.unwrap().unwrap_err();
    assert!(matches!(refused, SqlError::Refused(reason) if reason.contains("t_v_key")));
    // Its connection is good for the next one.
    assert_eq!(sql.execute("put".into(), vec![Value::Integer(2)]).await.unwrap().unwrap(), 1);
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn rows_are_limited_and_the_connection_goes() {
    let mut app = App::new("").await;
    app.limits.sql_rows = 10;
    let mut sql = app.grant(&[("many", "select * from generate_series(1, $1)")]).await;
    assert!(matches!(error(&mut sql, "many", vec![Value::Integer(2_000_000)]).await, SqlError::TooLarge(_)));
    assert!(app.is_idle().await);
    assert_eq!(rows(&mut sql, "many", vec![Value::Integer(10)]).await.len(), 10);
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn an_attempt_that_goes_leaves_no_statement_running_on_the_server() {
    let app = App::new("").await;
    let mut sql = app.grant(&[("sleep", "select pg_sleep(60)")]).await;
    let attempt = sql.query("sleep".into(), vec![]);
    assert!(tokio::time::timeout(Duration::from_millis(300), attempt).await.is_err());
    assert!(app.is_idle().await, "the statement still runs");
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn a_statement_over_its_time_is_told_and_ended() {
    let mut app = App::new("").await;
    app.limits.sql_time = Duration::from_secs(1);
    let mut sql = app.grant(&[("sleep", "select pg_sleep(60)")]).await;
    assert!(matches!(error(&mut sql, "sleep", vec![]).await, SqlError::Unavailable(_)));
    assert!(app.is_idle().await, "the statement still runs");
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn the_items_own_values_are_bound_behind_the_handlers() {
    let app = App::new("create table t (a int, b text, c bigint, d text)").await;
    let put = "insert into t values ({attempt}, $1, {id}, {scope}) returning *";
    let mut sql = app.grant(&[("put", put)]).await;
    let out = rows(&mut sql, "put", vec![Value::Text("x".into())]).await;
    let wanted = [Value::Integer(2), Value::Text("x".into()), Value::Integer(7), Value::Text("a'b".into())];
    assert!(out[0].iter().zip(&wanted).all(|(out, wanted)| same(out, wanted)), "{out:?}");
    assert!(app.refusal("insert into t (b) values ({id})").await.contains("`{id}`: integer was given"));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_without_its_url() {
    let database = Database::connect("app", "postgres://someone:geheim@127.0.0.1:1/app").await.unwrap();
    let grants = BTreeMap::from([("it".to_owned(), grant_of("select 1"))]);
    let databases = BTreeMap::from([("app".to_owned(), database)]);
    let error = prepare(&grants, &databases, &Limits::default()).await.err().unwrap();
    assert!(matches!(error, LoadError::DatabaseUnavailable { .. }), "{error}");
    assert!(!error.to_string().contains("geheim"), "{error}");
}
