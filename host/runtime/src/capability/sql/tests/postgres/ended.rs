//! Attempts that end while a statement of theirs, or its commit, is under way.

use std::time::Instant;

use futures::FutureExt as _;

use super::*;

/// No test waits for longer.
const PATIENCE: Duration = Duration::from_secs(60);

const TABLE: &str = "create table t (v int)";
/// Each commit waits for the lock that a test holds.
const SLOW_COMMIT: &str = "create table t (v int);
    create function wait() returns trigger language plpgsql as 'begin perform pg_advisory_xact_lock_shared(1); return null; end';
    create constraint trigger wait after insert on t deferrable initially deferred for each row execute function wait()";
const PUT: &str = "insert into t values (1), (2)";

impl App {
    async fn connection(&self) -> PgConnection {
        PgConnection::connect(&self.url).await.unwrap()
    }

    async fn count(&self) -> i64 {
        sqlx::query_scalar("select count(*) from t").fetch_one(&mut self.connection().await).await.unwrap()
    }

    /// Waits until the handler's sessions are like this, for a number of them.
    async fn until(&self, number: i64, which: &str) {
        let mut connection = self.connection().await;
        let count = format!(
            "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'workhost' and {which}"
        );
        let start = Instant::now();
        while sqlx::query_scalar::<_, i64>(AssertSqlSafe(&*count)).fetch_one(&mut connection).await.unwrap() != number {
            assert!(start.elapsed() < PATIENCE, "there are never {number} sessions with {which}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Until none of them does anything: statements whose attempt has gone are noticed by the server.
    async fn until_quiet(&self) {
        self.until(0, "state <> 'idle'").await;
    }
}

async fn run(connection: &mut PgConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(connection).await.unwrap();
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn a_statement_whose_attempt_is_ended_during_it_has_no_effect() {
    for drops in [true, false] {
        let app = App::new(TABLE).await;
        let mut sql = app.grant(&[("it", PUT)]).await;
        let mut other = app.connection().await;
        run(&mut other, "begin; lock table t in share mode").await;
        let attempt = tokio::spawn(async move { sql.execute("it".into(), vec![]).await });
        app.until(1, "wait_event_type = 'Lock'").await;
        app.control.end();
        if drops {
            attempt.abort();
            assert!(attempt.await.unwrap_err().is_cancelled());
            app.control.settled().await;
            run(&mut other, "rollback").await;
        } else {
            run(&mut other, "rollback").await;
            assert!(attempt.await.unwrap().is_err());
        }
        app.until_quiet().await;
        assert_eq!(app.count().await, 0);
    }
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn a_commit_that_is_under_way_when_its_attempt_ends_is_over_before_that_is_settled() {
    let app = App::new(SLOW_COMMIT).await;
    let mut sql = app.grant(&[("it", PUT)]).await;
    let mut other = app.connection().await;
    run(&mut other, "select pg_advisory_lock(1)").await;
    let attempt = tokio::spawn(async move { sql.execute("it".into(), vec![]).await });
    app.until(1, "wait_event = 'advisory'").await;
    app.control.end();
    attempt.abort();
    assert!(attempt.await.unwrap_err().is_cancelled());
    assert!(app.control.settled().now_or_never().is_none());
    run(&mut other, "select pg_advisory_unlock(1)").await;
    app.control.settled().await;
    let count = app.count().await;
    assert!(count == 2 || count == 0);
    app.until_quiet().await;
    assert_eq!(app.count().await, count);
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn a_commit_that_is_not_answered_holds_no_end_up_for_ever_and_is_told() {
    let app = App::new(SLOW_COMMIT).await;
    let mut sql = app.grant(&[("it", PUT)]).await;
    let mut other = app.connection().await;
    run(&mut other, "select pg_advisory_lock(1)").await;
    let told = tokio::time::timeout(PATIENCE, sql.execute("it".into(), vec![])).await.unwrap().unwrap().unwrap_err();
    assert!(matches!(&told, SqlError::Unavailable(words) if words.contains("may have taken effect")), "{told:?}");
    app.control.settled().await;
    app.until_quiet().await;
    assert_eq!(app.count().await, 0);
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn what_the_database_finds_at_the_commit_is_told_in_its_words() {
    let app = App::new("create table t (v int unique deferrable initially deferred)").await;
    let mut sql = app.grant(&[("it", PUT), ("again", "insert into t values (1)")]).await;
    assert_eq!(sql.execute("it".into(), vec![]).await.unwrap().unwrap(), 2);
    let told = sql.execute("again".into(), vec![]).await.unwrap().unwrap_err();
    assert!(matches!(&told, SqlError::Refused(words) if words.contains("t_v_key")), "{told:?}");
    assert_eq!(app.count().await, 2);
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn a_procedure_that_commits_by_itself_is_refused_in_words() {
    let app = App::new(
        "create table t (v int);
         create procedure p() language plpgsql as 'begin insert into t values (1); commit; end';
         create procedure q() language plpgsql as 'begin insert into t values (1); end'",
    )
    .await;
    let mut sql = app.grant(&[("p", "call p()"), ("q", "call q()")]).await;
    let told = sql.execute("p".into(), vec![]).await.unwrap().unwrap_err();
    assert!(matches!(&told, SqlError::Refused(words) if words.contains("which alone commits")), "{told:?}");
    assert_eq!(app.count().await, 0);
    sql.execute("q".into(), vec![]).await.unwrap().unwrap();
    assert_eq!(app.count().await, 1);
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn a_transaction_that_waits_too_long_for_its_commit_is_ended_by_the_server() {
    let app = App::new(TABLE).await;
    let Pool::Postgres(pool) = Database::connect("app", &app.url).await.unwrap().pool else { panic!() };
    let mut connection = pool.acquire().await.unwrap();
    sqlx::raw_sql("begin; insert into t values (1)").execute(&mut *connection).await.unwrap();
    app.until(1, "state = 'idle in transaction'").await;
    app.until(0, "state = 'idle in transaction'").await;
    assert!(sqlx::raw_sql("commit").execute(&mut *connection).await.is_err());
    assert_eq!(app.count().await, 0);
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn connections_that_the_server_closed_meanwhile_are_passed_over() {
    let app = App::new(TABLE).await;
    let mut sql = app.grant(&[("it", PUT)]).await;
    assert_eq!(sql.execute("it".into(), vec![]).await.unwrap().unwrap(), 2);
    app.until_quiet().await;
    let end = "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'workhost'";
    run(&mut app.connection().await, end).await;
    app.until(0, "true").await;
    assert_eq!(sql.execute("it".into(), vec![]).await.unwrap().unwrap(), 2);
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn a_hundred_attempts_that_end_during_a_statement_leave_all_connections_to_others() {
    let app = App::new(TABLE).await;
    let database = Database::connect("app", &app.url).await.unwrap();
    let Pool::Postgres(pool) = database.pool.clone() else { panic!() };
    let grants = BTreeMap::from([("it".to_owned(), grant_of(PUT))]);
    let statements = prepare(&grants, &BTreeMap::from([("app".to_owned(), database)]), &app.limits).await.unwrap();
    let mut sql = SqlContext::new(caller(&app.control), Arc::new(statements), &app.limits);
    let mut other = app.connection().await;
    run(&mut other, "begin; lock table t in share mode").await;
    for _ in 0..100 {
        let attempt = sql.execute("it".into(), vec![]);
        assert!(tokio::time::timeout(Duration::from_millis(10), attempt).await.is_err());
    }
    run(&mut other, "rollback").await;
    app.until_quiet().await;
    let mut all = Vec::new();
    for _ in 0..CONNECTIONS {
        all.push(pool.acquire().await.unwrap());
    }
    drop(all);
    assert_eq!(sql.execute("it".into(), vec![]).await.unwrap().unwrap(), 2);
    assert_eq!(app.count().await, 2);
}
