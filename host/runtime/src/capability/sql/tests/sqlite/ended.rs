//! Attempts that end while a statement of theirs, or its commit, is under way.

use futures::FutureExt as _;

use super::*;

impl App {
    /// A connection beside the handler's.
    async fn connection(&self) -> SqliteConnection {
        SqliteConnection::connect(&self.url()).await.unwrap()
    }

    async fn count(&self) -> i64 {
        sqlx::query_scalar("select count(*) from t").fetch_one(&mut self.connection().await).await.unwrap()
    }

    /// The only statement, and the pool that it runs on.
    async fn grant_one(&self, statement: &str) -> (SqlContext, SqlitePool) {
        let database = Database::connect("app", &self.url()).await.unwrap();
        let Pool::Sqlite(pool) = &database.pool else { panic!() };
        let pool = pool.clone();
        let databases = BTreeMap::from([("app".to_owned(), database)]);
        let grants = BTreeMap::from([("it".to_owned(), grant_of(statement))]);
        let statements = prepare(&grants, &databases, &self.limits).await.unwrap();
        (SqlContext::new(caller(&self.control), Arc::new(statements), &self.limits), pool)
    }
}

/// Until all connections of the pool are in it, or gone.
async fn until_quiet(pool: &SqlitePool) {
    let start = Instant::now();
    while pool.size() as usize != pool.num_idle() {
        assert!(start.elapsed() < Duration::from_secs(60), "a connection never comes back");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn run(connection: &mut SqliteConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(connection).await.unwrap();
}

#[tokio::test]
async fn a_statement_whose_attempt_is_ended_during_it_has_no_effect() {
    for drops in [true, false] {
        let app = App::new("create table t (v)").await;
        let (mut sql, pool) = app.grant_one("insert into t values (1), (2)").await;
        let mut other = app.connection().await;
        run(&mut other, "begin immediate").await;
        let attempt = tokio::spawn(async move { sql.execute("it".into(), vec![]).await });
        while pool.num_idle() == pool.size() as usize {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
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
        until_quiet(&pool).await;
        assert_eq!(app.count().await, 0);
        // Nor does it hold the file any longer.
        run(&mut other, "begin immediate").await;
    }
}

#[tokio::test]
async fn a_commit_that_is_under_way_when_its_attempt_ends_is_over_before_that_is_settled() {
    let app = App::new("create table t (v)").await;
    let (mut sql, pool) = app.grant_one("insert into t values (1), (2)").await;
    // Without a write-ahead log, a commit waits for those who read.
    let mut reader = app.connection().await;
    run(&mut reader, "begin; select * from t").await;
    let attempt = tokio::spawn(async move { sql.execute("it".into(), vec![]).await });
    app.control.until_an_effect().await;
    app.control.end();
    attempt.abort();
    assert!(attempt.await.unwrap_err().is_cancelled());
    assert!(app.control.settled().now_or_never().is_none());
    run(&mut reader, "rollback").await;
    app.control.settled().await;
    let count = app.count().await;
    assert!(count == 2 || count == 0);
    until_quiet(&pool).await;
    assert_eq!(app.count().await, count);
}

#[tokio::test]
async fn a_hundred_attempts_that_end_during_a_statement_leave_all_connections_to_others() {
    let app = App::new("create table t (v)").await;
    let (mut sql, pool) = app.grant_one("insert into t values (1)").await;
    let mut other = app.connection().await;
    run(&mut other, "begin immediate").await;
    for _ in 0..100 {
        let attempt = sql.execute("it".into(), vec![]);
        assert!(tokio::time::timeout(Duration::from_millis(10), attempt).await.is_err());
    }
    run(&mut other, "rollback").await;
    until_quiet(&pool).await;
    let mut all = Vec::new();
    for _ in 0..CONNECTIONS {
        all.push(pool.acquire().await.unwrap());
    }
    drop(all);
    assert_eq!(sql.execute("it".into(), vec![]).await.unwrap().unwrap(), 1);
    assert_eq!(app.count().await, 1);
}
