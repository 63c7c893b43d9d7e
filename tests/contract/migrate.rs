//! Migrations.

use std::time::{Duration, Instant};

use sqlx::Connection;
use workhost_queue::{ConnectOptions, QueueError};

use crate::store::{Engine, contract, contract_on, keyed, new};

contract! {
    async fn migrating_again_changes_nothing(store) {
        let again = store.host().await.migrate().await.unwrap();
        assert_eq!((again.applied.len(), again.version), (0, 1));
        store.queue.check().await.unwrap();
    }

    async fn a_store_that_was_never_migrated_is_told_so(store) {
        let fresh = fresh(&store).await;
        for error in [fresh.check().await.unwrap_err(), fresh.enqueue(&[new("a")]).await.unwrap_err()] {
            assert!(matches!(error, QueueError::Unusable { .. }), "{error}");
            assert!(error.to_string().contains("workhost serve"), "{error}");
        }
        assert_eq!(fresh.migrate().await.unwrap().applied, ["0001_work_items"]);
        fresh.check().await.unwrap();
    }

    async fn two_migrators_that_start_together_both_finish(store) {
        let fresh = fresh(&store).await;
        let other = fresh2(&store).await;
        let (one, two) = tokio::join!(fresh.migrate(), other.migrate());
        let mut applied = [one.unwrap().applied.len(), two.unwrap().applied.len()];
        applied.sort_unstable();
        assert_eq!(applied, [0, 1]);
        fresh.check().await.unwrap();
        other.migrate().await.unwrap();
    }

    async fn a_newer_schema_is_used_unless_it_says_otherwise(store) {
        let now = match store.engine { Engine::Postgres => "now()", Engine::Sqlite => "0" };
        store.sql(format!("insert into schema_migrations values (2, '0002_additive', 'x', 1, {now})")).await;
        store.sql("alter table work_items add column added text").await;
        store.queue.check().await.unwrap();
        assert_eq!(store.queue.migrate().await.unwrap().version, 2);
        store.running(keyed("a", "k")).await;

        store.sql(format!("insert into schema_migrations values (3, '0003_breaking', 'x', 3, {now})")).await;
        for error in [store.queue.check().await.unwrap_err(), store.host().await.migrate().await.unwrap_err()] {
            assert!(matches!(error, QueueError::Unusable { .. }), "{error}");
            assert!(error.to_string().contains("install a newer workhost"), "{error}");
        }
        assert_eq!(store.number("select count(*) from schema_migrations").await, 3);
    }

    async fn a_migration_that_was_changed_is_refused(store) {
        store.sql("update schema_migrations set checksum = 'other'").await;
        assert!(matches!(store.queue.migrate().await, Err(QueueError::Unusable { .. })));
    }

    async fn a_migrator_gives_up_when_the_lock_is_held_elsewhere(store) {
        let options = ConnectOptions { migration_wait: Duration::from_millis(400), ..ConnectOptions::default() };
        let host = store.host_with(options).await;
        let asked = Instant::now();
        let told = match store.engine {
            Engine::Postgres => {
                let options: sqlx::postgres::PgConnectOptions = store.url.parse().unwrap();
                let options = options.application_name("somebody else");
                let mut holder = sqlx::PgConnection::connect_with(&options).await.unwrap();
                sqlx::query("select pg_advisory_lock(x'776f726b686f7374'::bigint)").execute(&mut holder).await.unwrap();
                let told = host.migrate().await;
                holder.close().await.unwrap();
                told
            }
            Engine::Sqlite => {
                let path = store.url.strip_prefix("sqlite://").unwrap();
                let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
                let mut holder = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
                sqlx::raw_sql("begin immediate").execute(&mut holder).await.unwrap();
                let told = host.migrate().await;
                holder.close().await.unwrap();
                told
            }
        };
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
        match told {
            Err(QueueError::Held { holder, .. }) if store.engine == Engine::Postgres => {
                assert!(holder.contains("application somebody else") && holder.contains("pid "), "{holder}");
            }
            Err(QueueError::Held { .. }) => {}
            other => panic!("{other:?}"),
        }
        store.queue.migrate().await.unwrap();
    }
}

/// A queue on the same server, or in the same folder, without a schema.
async fn fresh(store: &crate::store::TestStore) -> std::sync::Arc<dyn workhost_queue::Queue> {
    match store.engine {
        Engine::Postgres => {
            store.sql("drop schema workhost cascade").await;
            store.host().await
        }
        Engine::Sqlite => {
            workhost_queue::connect(&format!("{}.fresh", store.url), ConnectOptions::default()).await.unwrap()
        }
    }
}

/// The same store as [`fresh`], seen by a second host.
async fn fresh2(store: &crate::store::TestStore) -> std::sync::Arc<dyn workhost_queue::Queue> {
    let url = match store.engine {
        Engine::Postgres => store.url.clone(),
        Engine::Sqlite => format!("{}.fresh", store.url),
    };
    workhost_queue::connect(&url, ConnectOptions::default()).await.unwrap()
}

contract_on! { Postgres:
    async fn the_migration_lock_is_free_afterwards(store) {
        store.host().await.migrate().await.unwrap();
        assert_eq!(store.number("select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())").await, 0);
    }
}
