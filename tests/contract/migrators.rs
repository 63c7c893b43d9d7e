//! Migrators: two at once, one that waits for another, one that is ended in the middle.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use sqlx::Connection;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use workhost_queue::{ConnectOptions, QueueError, connect};

use crate::migrate::tables;
use crate::store::{Engine, TestStore, contract, contract_on, keyed};

contract! {
    async fn hosts_that_start_together_all_finish_and_leave_the_lock_free(store) {
        for _ in 0..5 {
            let empty = Arc::new(TestStore::new(store.engine).await);
            let (barrier, mut hosts) = (Arc::new(Barrier::new(3)), JoinSet::new());
            for _ in 0..3 {
                let (url, barrier) = (empty.url.clone(), Arc::clone(&barrier));
                hosts.spawn(async move {
                    barrier.wait().await;
                    let queue = connect(&url, ConnectOptions::default()).await.unwrap();
                    let migrated = queue.migrate().await.unwrap();
                    queue.check().await.unwrap();
                    queue.enqueue(&[keyed("a", "k")]).await.unwrap();
                    migrated
                });
            }
            let migrated = hosts.join_all().await;
            assert!(migrated.iter().all(|migrated| migrated.version == 1), "{migrated:?}");
            assert_eq!(migrated.iter().map(|migrated| migrated.applied.len()).sum::<usize>(), 1, "{migrated:?}");
            assert_eq!(empty.number("select count(*) from work_items").await, 1);
            assert_eq!(empty.number("select count(*) from schema_migrations").await, 1);
            assert_lock_is_free(&empty).await;
            empty.remove().await;
        }
    }

    async fn a_migrator_gives_up_when_the_lock_is_held_elsewhere_and_has_changed_nothing(store) {
        let empty = TestStore::new(store.engine).await;
        let options = ConnectOptions { migration_wait: Duration::from_millis(400), ..ConnectOptions::default() };
        let host = empty.host_with(options).await;
        let asked = Instant::now();
        let told = match store.engine {
            Engine::Postgres => {
                let options = empty.url.parse::<PgConnectOptions>().unwrap().application_name("somebody else");
                let mut holder = sqlx::PgConnection::connect_with(&options).await.unwrap();
                sqlx::query("select pg_advisory_lock(x'776f726b686f7374'::bigint)").execute(&mut holder).await.unwrap();
                let told = host.migrate().await;
                assert_eq!(tables(&empty).await, 0);
                holder.close().await.unwrap();
                told
            }
            Engine::Sqlite => {
                let options = SqliteConnectOptions::new().filename(file(&empty));
                let mut holder = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
                sqlx::raw_sql("begin immediate").execute(&mut holder).await.unwrap();
                let told = host.migrate().await;
                assert_eq!(tables(&empty).await, 0);
                holder.close().await.unwrap();
                told
            }
        };
        let waited = asked.elapsed();
        assert!(waited > Duration::from_millis(390) && waited < Duration::from_secs(5), "{waited:?}");
        let whom = match store.engine {
            Engine::Postgres => ["application somebody else", "pid "],
            // SQLite knows nobody's name, but who has the file open can be asked for.
            Engine::Sqlite => ["another process", "fuser"],
        };
        match told {
            Err(QueueError::Held { holder, .. }) => assert!(whom.iter().all(|word| holder.contains(word)), "{holder}"),
            other => panic!("{other:?}"),
        }
        host.migrate().await.unwrap();
        empty.remove().await;
    }

    async fn a_migrator_that_is_cut_off_at_any_point_leaves_all_or_nothing(store) {
        let whole = tables(&store).await;
        let empty = TestStore::new(store.engine).await;
        let mut cuts = 0;
        for steps in 0.. {
            let cut = cut_off_after(steps, empty.queue.migrate()).await.is_none();
            let there = tables(&empty).await;
            assert!(there == 0 || there == whole, "{there} of {whole} tables after {steps} steps");
            if !cut {
                break;
            }
            cuts += 1;
        }
        assert!(cuts > 3, "it was cut off {cuts} times only");
        empty.queue.migrate().await.unwrap();
        assert_eq!(tables(&empty).await, whole);
        assert_lock_is_free(&empty).await;
        empty.remove().await;
    }
}

contract_on! { Postgres:
    async fn a_migrator_that_is_killed_in_mid_migration_leaves_nothing_half_done(store) {
        let empty = TestStore::new(store.engine).await;
        // The table in the middle of the migration is being made by somebody else.
        empty.sql("create schema workhost").await;
        let mut somebody = empty.pg().begin().await.unwrap();
        sqlx::raw_sql("create table workhost.pauses ()").execute(&mut *somebody).await.unwrap();
        let queue = empty.host().await;
        let killed = tokio::spawn(async move { queue.migrate().await });
        let kill = "select count(pg_terminate_backend(pid)) from pg_stat_activity
            where wait_event_type = 'Lock' and query like '%create table workhost.work_items%' and datname = current_database()";
        while empty.number(kill).await == 0 {
            assert!(!killed.is_finished(), "it did not wait inside its migration");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let told = killed.await.unwrap();
        assert!(matches!(told, Err(QueueError::Unavailable { .. })), "{told:?}");
        somebody.rollback().await.unwrap();
        assert_eq!(tables(&empty).await, 0);
        assert_lock_is_free(&empty).await;
        assert_eq!(empty.host().await.migrate().await.unwrap().applied, ["0001_work_items"]);
        assert_eq!(tables(&empty).await, tables(&store).await);
        empty.remove().await;
    }
}

contract_on! { Postgres:
    async fn a_migration_that_somebodys_lock_is_in_the_way_of_is_tried_until_the_limit(store) {
        let empty = TestStore::new(store.engine).await;
        empty.sql("create schema workhost").await;
        let mut somebody = empty.pg().begin().await.unwrap();
        sqlx::raw_sql("create table workhost.pauses ()").execute(&mut *somebody).await.unwrap();
        let options = ConnectOptions { migration_wait: Duration::from_millis(600), ..ConnectOptions::default() };
        let asked = Instant::now();
        match empty.host_with(options).await.migrate().await {
            Err(QueueError::Held { what, holder }) => {
                assert!(what.contains("migration needs") && holder.contains("pg_stat_activity"), "{what}: {holder}");
            }
            other => panic!("{other:?}"),
        }
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
        assert_lock_is_free(&empty).await;
        assert_eq!(tables(&empty).await, 0);

        let patient = empty.host().await;
        let migrated = tokio::spawn(async move { patient.migrate().await });
        while empty.number("select count(*) from pg_locks where not granted").await == 0 {
            assert!(!migrated.is_finished(), "it did not wait");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        somebody.rollback().await.unwrap();
        assert_eq!(migrated.await.unwrap().unwrap().applied, ["0001_work_items"]);
        empty.remove().await;
    }
}

contract! {
    async fn a_migration_that_fails_is_told_at_once(store) {
        let empty = TestStore::new(store.engine).await;
        if empty.engine == Engine::Postgres {
            empty.sql("create schema workhost").await;
        }
        empty.sql("create table pauses (somebodys integer)").await;
        let options = ConnectOptions { migration_wait: Duration::from_secs(60), ..ConnectOptions::default() };
        let host = empty.host_with(options).await;
        let told = tokio::time::timeout(Duration::from_secs(10), host.migrate()).await.expect("nobody is in the way");
        assert!(matches!(&told, Err(QueueError::Unavailable { reason }) if reason.contains("already exists")), "{told:?}");
        empty.remove().await;
    }
}

/// Drops a future that is not done after so many steps.
async fn cut_off_after<T>(mut steps: u32, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    std::future::poll_fn(|context| {
        if steps == 0 {
            return Poll::Ready(None);
        }
        steps -= 1;
        work.as_mut().poll(context).map(Some)
    })
    .await
}

/// The lock of migrators can be had at once.
async fn assert_lock_is_free(store: &TestStore) {
    match store.engine {
        Engine::Postgres => {
            let held = "select count(*) from pg_locks where locktype = 'advisory'
                and database = (select oid from pg_database where datname = current_database())";
            assert_eq!(store.number(held).await, 0);
        }
        Engine::Sqlite => {
            let options = SqliteConnectOptions::new().filename(file(store)).busy_timeout(Duration::ZERO);
            let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
            sqlx::raw_sql("begin immediate; rollback").execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        }
    }
}

fn file(store: &TestStore) -> &str {
    store.url.strip_prefix("sqlite://").unwrap()
}
