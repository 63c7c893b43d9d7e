//! Statements on SQLite, through the host functions that a guest calls.

mod ended;

use std::time::{Duration, Instant};

use sqlx::Connection;
use sqlx::sqlite::{SqliteConnection, SqlitePool};
use tempfile::TempDir;

use super::super::database::{CONNECTIONS, Pool};
use super::super::sql::Host;
use super::super::*;
use super::{caller, error, grant_of, rows, same};
use crate::control::Control;

/// An application database, and a handler's grants on it.
struct App {
    dir: TempDir,
    control: Arc<Control>,
    limits: Limits,
}

impl App {
    async fn new(schema: &'static str) -> App {
        let app = App { dir: tempfile::tempdir().unwrap(), control: Arc::default(), limits: Limits::default() };
        std::fs::write(app.dir.path().join("app.db"), "").unwrap();
        let mut connection = SqliteConnection::connect(&app.url()).await.unwrap();
        sqlx::raw_sql(schema).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        app
    }

    fn url(&self) -> String {
        format!("sqlite://{}", self.dir.path().join("app.db").display())
    }

    async fn grant(&self, statements: &[(&str, &str)]) -> SqlContext {
        let database = Database::connect("app", &self.url()).await.unwrap();
        let grants = statements.iter().map(|(name, statement)| ((*name).to_owned(), grant_of(statement)));
        let databases = BTreeMap::from([("app".to_owned(), database)]);
        let statements = prepare(&grants.collect(), &databases, &self.limits).await.unwrap();
        SqlContext::new(caller(&self.control), Arc::new(statements), &self.limits)
    }
}

#[tokio::test]
async fn every_value_goes_in_and_comes_out() {
    let app = App::new("create table t (b boolean, i integer, f real, s text, x blob, at datetime, n text)").await;
    let mut sql =
        app.grant(&[("put", "insert into t values ($1, $2, $3, $4, $5, $6, $7)"), ("get", "select * from t")]).await;
    let values = vec![
        Value::Boolean(true),
        Value::Integer(i64::MIN),
        Value::Float(0.5),
        Value::Text("é".into()),
        Value::Bytes(vec![0, 255]),
        Value::Timestamp(-1),
        Value::Null,
    ];
    assert_eq!(sql.execute("put".into(), values.clone()).await.unwrap().unwrap(), 1);
    let answer = sql.query("get".into(), vec![]).await.unwrap().unwrap();
    assert_eq!(answer.columns, ["b", "i", "f", "s", "x", "at", "n"]);
    assert!(answer.rows[0].iter().zip(&values).all(|(out, put)| same(out, put)), "{:?}", answer.rows);
}

#[tokio::test]
async fn times_uuids_and_json_are_text_of_one_shape() {
    let app = App::new("create table t (v text)").await;
    let mut sql = app.grant(&[("echo", "select $1"), ("older", "select '2026-01-31T12:00:00.000000Z' < $1")]).await;
    let shapes = [
        (Value::Timestamp(1_769_860_800_000_001), "2026-01-31T12:00:00.000001Z"),
        (Value::Uuid("67E55044-10B1-426F-9247-BB680E5FE0C8".into()), "67e55044-10b1-426f-9247-bb680e5fe0c8"),
        (Value::Json(r#"{"a": 1}"#.into()), r#"{"a": 1}"#),
    ];
    for (value, text) in shapes {
        let [row] = &rows(&mut sql, "echo", vec![value]).await[..] else { panic!() };
        assert!(same(&row[0], &Value::Text(text.into())), "{row:?}");
    }
    let [row] = &rows(&mut sql, "older", vec![Value::Timestamp(1_769_860_800_000_001)]).await[..] else { panic!() };
    assert!(same(&row[0], &Value::Integer(1)));
    for wrong in [Value::Timestamp(i64::MAX), Value::Uuid("x".into()), Value::Json("{".into())] {
        assert!(
            matches!(error(&mut sql, "echo", vec![wrong]).await, SqlError::Invalid(reason) if reason.starts_with("parameter 1: "))
        );
    }
}

#[tokio::test]
async fn what_is_stored_comes_out_as_its_column_says_where_it_can() {
    let app = App::new("create table t (b boolean, at datetime)").await;
    let mut sql = app.grant(&[("put", "insert into t values ($1, $2)"), ("get", "select * from t")]).await;
    let stored = [
        vec![Value::Boolean(false), Value::Text("some day".into())],
        vec![Value::Integer(2), Value::Text("2026-01-31".into())],
    ];
    for row in &stored {
        sql.execute("put".into(), row.clone()).await.unwrap().unwrap();
    }
    let out = rows(&mut sql, "get", vec![]).await;
    assert!(out.iter().flatten().zip(stored.iter().flatten()).all(|(out, put)| same(out, put)), "{out:?}");
}

#[tokio::test]
async fn a_statement_that_is_over_stops_no_other_on_its_connection() {
    let mut app = App::new("create table t (v)").await;
    app.limits.sql_time = Duration::from_millis(50);
    let database = Database::connect("app", &app.url()).await.unwrap();
    let Pool::Sqlite(pool) = &database.pool else { panic!() };
    let grants = BTreeMap::from([("one".to_owned(), grant_of("select 1"))]);
    let databases = BTreeMap::from([("app".to_owned(), database.clone())]);
    let statements = prepare(&grants, &databases, &app.limits).await.unwrap();
    let mut sql = SqlContext::new(caller(&app.control), Arc::new(statements), &app.limits);
    assert_eq!(rows(&mut sql, "one", vec![]).await.len(), 1);
    tokio::time::sleep(2 * app.limits.sql_time).await;
    let mut connections = Vec::new();
    for _ in 0..pool.size() {
        connections.push(pool.acquire().await.unwrap());
    }
    let long =
        "with recursive n (i) as (select 1 union all select i + 1 from n where i < 100000) select count(*) from n";
    for connection in &mut connections {
        let counted: i64 = sqlx::query_scalar(long).fetch_one(&mut **connection).await.unwrap();
        assert_eq!(counted, 100_000);
    }
}

#[tokio::test]
async fn only_granted_names_run() {
    let app = App::new("create table t (v)").await;
    let mut sql = app.grant(&[("one", "select 1")]).await;
    assert!(matches!(error(&mut sql, "select 1", vec![]).await, SqlError::NotGranted(_)));
    assert!(matches!(
        error(&mut SqlContext::new(caller(&Arc::default()), Arc::default(), &app.limits), "one", vec![]).await,
        SqlError::NotGranted(_)
    ));
}

#[tokio::test]
async fn a_wrong_number_of_parameters_is_invalid() {
    let app = App::new("create table t (v)").await;
    let mut sql = app.grant(&[("one", "select $1")]).await;
    for params in [vec![], vec![Value::Null, Value::Null]] {
        assert!(matches!(error(&mut sql, "one", params).await, SqlError::Invalid(_)));
    }
}

#[tokio::test]
async fn a_violated_constraint_is_refused_in_the_databases_words() {
    let app = App::new("create table t (v unique)").await;
    let mut sql = app.grant(&[("put", "insert into t values ($1)")]).await;
    sql.execute("put".into(), vec![Value::Integer(1)]).await.unwrap().unwrap();
    let refused = sql.execute("put".into(), vec![Value::Integer(1)]).await.unwrap().unwrap_err();
    assert!(matches!(refused, SqlError::Refused(reason) if reason.contains("t.v")));
    // Its connection is good for the next one.
    assert_eq!(sql.execute("put".into(), vec![Value::Integer(2)]).await.unwrap().unwrap(), 1);
}

#[tokio::test]
async fn rows_and_bytes_are_limited() {
    let mut app = App::new("create table t (v)").await;
    app.limits.sql_rows = 10;
    app.limits.sql_bytes = 1000;
    let many = "with recursive n(i) as (select 1 union all select i + 1 from n where i < $1) select i from n";
    let mut sql = app.grant(&[("many", many), ("large", "select zeroblob($1)")]).await;
    assert_eq!(rows(&mut sql, "many", vec![Value::Integer(10)]).await.len(), 10);
    assert!(matches!(error(&mut sql, "many", vec![Value::Integer(11)]).await, SqlError::TooLarge(_)));
    assert_eq!(rows(&mut sql, "large", vec![Value::Integer(900)]).await.len(), 1);
    assert!(matches!(error(&mut sql, "large", vec![Value::Integer(1000)]).await, SqlError::TooLarge(_)));
    // The connection that was left in the middle of its rows is not used again.
    assert_eq!(rows(&mut sql, "many", vec![Value::Integer(10)]).await.len(), 10);
}

#[tokio::test]
async fn a_statement_over_its_time_is_interrupted() {
    let mut app = App::new("create table t (v)").await;
    app.limits.sql_time = Duration::from_millis(100);
    let endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";
    let mut sql = app.grant(&[("endless", endless)]).await;
    let started = Instant::now();
    assert!(matches!(error(&mut sql, "endless", vec![]).await, SqlError::Unavailable(_)));
    // By the database itself, before this side would have given up on it.
    assert!(started.elapsed() < Duration::from_millis(1500));
}

#[tokio::test]
async fn a_dropped_attempt_leaves_no_statement_running() {
    let app = App::new("create table t (v)").await;
    let endless = "insert into t with recursive n(i) as (select 1 union all select i + 1 from n) select i from n";
    let mut sql = app.grant(&[("endless", endless), ("put", "insert into t values ($1)")]).await;
    let attempt = sql.execute("endless".into(), vec![]);
    assert!(tokio::time::timeout(Duration::from_millis(100), attempt).await.is_err());
    // The writer is free again, well before the statement's own time is over.
    let started = Instant::now();
    assert_eq!(sql.execute("put".into(), vec![Value::Null]).await.unwrap().unwrap(), 1);
    assert!(started.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn an_ended_attempt_runs_no_statement() {
    let app = App::new("create table t (v)").await;
    let mut sql = app.grant(&[("put", "insert into t values (1)"), ("count", "select count(*) from t")]).await;
    app.control.end();
    assert!(sql.execute("put".into(), vec![]).await.is_err());
    assert!(sql.query("put".into(), vec![]).await.is_err());
    let mut other = app.grant(&[("count", "select count(*) from t")]).await;
    other.caller = caller(&Arc::default());
    assert!(same(&rows(&mut other, "count", vec![]).await[0][0], &Value::Integer(0)));
}

#[tokio::test]
async fn the_items_own_values_are_bound_behind_the_handlers() {
    let app = App::new("create table t (a, b, c, d)").await;
    let put = "insert into t values ({attempt}, $1, {id}, {scope}) returning *";
    let mut sql = app.grant(&[("put", put)]).await;
    let out = rows(&mut sql, "put", vec![Value::Text("x".into())]).await;
    let wanted = [Value::Integer(2), Value::Text("x".into()), Value::Integer(7), Value::Text("a'b".into())];
    assert!(out[0].iter().zip(&wanted).all(|(out, wanted)| same(out, wanted)), "{out:?}");
    let error = error(&mut sql, "put", vec![Value::Null, Value::Integer(9)]).await;
    assert!(matches!(&error, SqlError::Invalid(words) if words.contains("takes 1 parameters, 2")), "{error:?}");
}
