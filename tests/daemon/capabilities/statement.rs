//! `sql`: statements that take values of the item, so that an application can fence its own writes.

use workhost_queue::Status;

use crate::harness::*;

fn statements(statement: &str) -> String {
    format!(
        "[kinds.statements]\n[[handlers]]\ncomponent = {:?}\n[handlers.sql.it]\ndatabase = \"app\"\nstatement = {statement:?}\n",
        component("guests/statements")
    )
}

on_both_stores! {
    async fn a_statement_takes_the_items_own_values_and_fences_by_them(w: Workshop) {
        w.app.execute("create table effects (item bigint primary key, attempt bigint not null, scope text)").await;
        w.configure(&statements(
            "insert into effects values ({id}, {attempt}, {scope}) on conflict (item) do update set attempt = {attempt} \
             where effects.attempt <= {attempt}",
        ));
        let daemon = w.serve();
        let mut runs = Vec::new();
        for _ in 0..2 {
            let id = w.enqueue("statements", &["--scope", "it's", "--payload", r#"{"run": "it"}"#]);
            assert_eq!(result(&w.until_finished(id).await), 1);
            runs.push(format!("{id}/1/it's"));
        }
        let effects = "select concat(item, '/', attempt, '/', scope) from effects order by item";
        let effects = match w.app.store {
            Store::Postgres => effects.to_owned(),
            Store::Sqlite => "select item || '/' || attempt || '/' || scope from effects order by item".to_owned(),
        };
        assert_eq!(w.app.texts(&effects).await, runs);
        // A later attempt has been here: this one is stale, and changes nothing.
        w.app.execute("update effects set attempt = 9").await;
        w.app.execute("update effects set item = (select max(item) from effects) + 1 where item = (select max(item) from effects)").await;
        let id = w.enqueue("statements", &["--payload", r#"{"run": "it"}"#]);
        assert_eq!(result(&w.until_finished(id).await), 0);
        daemon.stop();
    }

    async fn a_statement_that_asks_for_something_else_is_refused_with_what_there_is(w: Workshop) {
        w.app.execute("create table t (a bigint)").await;
        for offline in [&["validate"][..], &["validate", "--offline"]] {
            w.configure(&statements("delete from t where a = {item}"));
            let said = w.run_refused(offline);
            assert!(said.contains("handlers[0].sql.it") && said.contains("{id}, {attempt}, {scope}"), "{said}");
        }
        w.configure(&statements("delete from t where a = {id}"));
        w.run_ok(&["validate"]);
    }
}

#[tokio::test]
async fn a_value_of_the_item_that_does_not_fit_where_it_stands_is_refused_by_validate() {
    let w = Workshop::new(Store::Postgres).await;
    w.app.execute("create table t (a text)").await;
    w.configure(&statements("delete from t where a = {id}"));
    let said = w.run_refused(&["validate"]);
    assert!(said.contains("`{id}`: integer was given") && said.contains("{id}::bigint"), "{said}");
    w.configure(&statements("delete from t where a = {id}::bigint::text"));
    let daemon = w.serve();
    let id = w.enqueue("statements", &["--payload", r#"{"run": "it"}"#]);
    assert_eq!(w.until_finished(id).await.status, Status::Succeeded);
    daemon.stop();
}

#[tokio::test]
async fn a_role_that_could_write_the_queues_tables_is_found_with_the_statement_that_takes_the_right_away() {
    let w = Workshop::new(Store::Postgres).await;
    w.configure(&statements("select 1"));
    w.queue().await.migrate().await.unwrap();
    // The application's tables in the store's own database, as many have it.
    let (store, role) = (w.store_url().to_owned(), format!("app_{}", std::process::id()));
    let as_role = format!("postgres://{role}:word@{}", store.rsplit_once('@').unwrap().1);
    let point_at = |url: &str| {
        let text = std::fs::read_to_string(w.path("workhost.toml")).unwrap();
        w.write(
            "workhost.toml",
            text.replace(
                &format!("[databases.app]\nurl = {:?}", w.app.url),
                &format!("[databases.app]\nurl = {url:?}"),
            ),
        );
    };
    point_at(&store);
    let said = w.run_refused(&["validate", "--strict"]);
    assert!(said.contains("database-can-write-queue") && said.contains("superuser"), "{said}");
    w.execute(&format!("create role {role} login password 'word'; grant usage on schema workhost to {role}; grant insert on workhost.work_items to {role}")).await;
    w.configure(&statements("select 1"));
    point_at(&as_role);
    let said = w.run_refused(&["validate", "--strict"]);
    let mend = format!("revoke all on all tables in schema workhost from {role}");
    assert!(said.contains("work_items") && said.contains(&mend), "{said}");
    assert!(w.run_ok(&["validate"]).contains("1 warning"));
    w.execute(&mend).await;
    assert!(!w.run_ok(&["validate", "--strict"]).contains("database-can-write-queue"));
    w.execute(&format!("drop owned by {role}; drop role {role}")).await;
}

#[tokio::test]
async fn a_file_that_is_the_queues_own_is_found_unless_it_is_only_read() {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&statements("select 1"));
    w.queue().await.migrate().await.unwrap();
    let text = std::fs::read_to_string(w.path("workhost.toml")).unwrap();
    let databases = |url: &str| format!("[databases.app]\nurl = {url:?}");
    w.write("workhost.toml", text.replace(&databases(&w.app.url), &databases(w.store_url())));
    assert!(w.run_refused(&["validate", "--strict"]).contains("?mode=ro"));
    w.write("workhost.toml", text.replace(&databases(&w.app.url), &databases(&format!("{}?mode=ro", w.store_url()))));
    assert!(!w.run_ok(&["validate", "--strict"]).contains("database-can-write-queue"));
}

#[tokio::test]
async fn a_cancelled_attempt_leaves_no_statement_running_on_the_server() {
    let w = Workshop::new(Store::Postgres).await;
    w.configure(&statements("select pg_sleep(600)"));
    let daemon = w.serve();
    let id = w.enqueue("statements", &["--payload", r#"{"run": "it"}"#]);
    let running = "select count(*)::text from pg_stat_activity where datname = current_database() and state = 'active' \
        and query like 'select pg_sleep%'";
    let until = async |number: &str| {
        let start = std::time::Instant::now();
        while w.app.texts(running).await != [number] {
            assert!(start.elapsed() < PATIENCE, "not {number} statements run\n{}", w.log());
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    until("1").await;
    w.run_ok(&["cancel", &id.to_string()]);
    assert_eq!(w.until_finished(id).await.status, Status::Cancelled);
    until("0").await;
    daemon.stop();
}

#[tokio::test]
async fn more_than_one_statement_is_refused_however_it_is_written() {
    for store in [Store::Postgres, Store::Sqlite] {
        let w = Workshop::new(store).await;
        w.app.execute("create table t (a bigint)").await;
        for statement in [
            "delete from t; delete from t",
            "delete from t; /* */ delete from t",
            "drop table t",
            "create table u (a bigint)",
            "begin",
            "",
        ] {
            w.configure(&statements(statement));
            let said = w.run_refused(&["validate"]);
            assert!(said.contains("statement-refused") && said.contains("handlers[0].sql.it"), "{statement}: {said}");
        }
    }
    let w = Workshop::new(Store::Sqlite).await;
    for statement in ["attach 'other.db' as other", "pragma journal_mode = delete", "vacuum into 'copy.db'"] {
        w.configure(&statements(statement));
        assert!(w.run_refused(&["validate"]).contains("it begins with"), "{statement}");
    }
    w.configure(&statements("select 1"));
    let daemon = w.serve();
    let id = w.enqueue("statements", &["--payload", r#"{"run": "another"}"#]);
    let error = w.until_finished(id).await.error.unwrap();
    assert!(error.contains("no statement `another` is granted"), "{error}");
    daemon.stop();
}

on_both_stores! {
    async fn a_statement_is_ended_at_its_grants_own_limits(w: Workshop) {
        let endless = "with recursive n (i) as (select 1 union all select i + 1 from n) select i from n";
        let slow = match w.app.store {
            Store::Postgres => "select pg_sleep(600)".to_owned(),
            Store::Sqlite => format!("{endless} where i < 0"),
        };
        w.configure(&(statements(&slow) + "time = \"300ms\"\n"));
        let daemon = w.serve();
        let id = w.enqueue("statements", &["--payload", r#"{"run": "it"}"#]);
        let error = w.until_finished(id).await.error.unwrap();
        assert!(error.contains("in time") || error.contains("interrupt"), "{error}");
        w.configure(&(statements(endless) + "rows = 10\n"));
        w.run_ok(&["reload"]);
        let id = w.enqueue("statements", &["--payload", r#"{"run": "it", "query": true}"#]);
        let error = w.until_finished(id).await.error.unwrap();
        assert!(error.contains("more than 10 rows"), "{error}");
        daemon.stop();
        for wrong in ["rows = 0", "rows = 10001", "time = \"31s\"", "time = \"0s\""] {
            w.configure(&(statements("select 1") + wrong + "\n"));
            assert!(w.run_refused(&["validate"]).contains("handlers[0].sql.it."), "{wrong}");
        }
    }
}
