//! Migrations.

use workhost_queue::QueueError;

use crate::store::{Engine, TestStore, contract, keyed, new};

contract! {
    async fn migrating_again_changes_nothing(store) {
        let again = store.host().await.migrate().await.unwrap();
        assert_eq!((again.applied.len(), again.version), (0, 1));
        store.queue.check().await.unwrap();
    }

    async fn a_store_that_was_never_migrated_is_told_so(store) {
        let empty = TestStore::new(store.engine).await;
        let fresh = &empty.queue;
        for error in [fresh.check().await.unwrap_err(), fresh.enqueue(&[new("a")]).await.unwrap_err()] {
            assert!(matches!(error, QueueError::Unusable { .. }), "{error}");
            assert!(error.to_string().contains("workhost serve"), "{error}");
        }
        assert!(fresh.check().await.unwrap_err().to_string().contains("lacks migration 0001_work_items"));
        assert_eq!(fresh.migrate().await.unwrap().applied, ["0001_work_items"]);
        fresh.check().await.unwrap();
        empty.remove().await;
    }

    async fn a_newer_schema_is_used_unless_it_says_otherwise(store) {
        record(&store, 2, "0002_additive", 1).await;
        store.sql("alter table work_items add column added text").await;
        store.queue.check().await.unwrap();
        assert_eq!(store.queue.migrate().await.unwrap().version, 2);
        store.running(keyed("a", "k")).await;

        record(&store, 3, "0003_breaking", 3).await;
        let before = everything(&store).await;
        for error in [store.queue.check().await.unwrap_err(), store.host().await.migrate().await.unwrap_err()] {
            assert!(matches!(error, QueueError::Unusable { .. }), "{error}");
            assert!(error.to_string().contains("0003_breaking"), "{error}");
            assert!(error.to_string().contains("install a newer workhost"), "{error}");
        }
        assert_eq!(everything(&store).await, before, "what is refused changes nothing");
    }

    async fn a_schema_that_somebody_changed_does_not_fit(store) {
        store.sql("alter table schema_migrations rename column checksum to sum").await;
        for error in [store.queue.check().await.unwrap_err(), store.host().await.migrate().await.unwrap_err()] {
            assert!(matches!(error, QueueError::Unusable { .. }), "{error}");
            assert!(error.to_string().contains("does not fit this build"), "{error}");
        }
    }

    async fn a_migration_that_was_changed_is_refused(store) {
        store.sql("update schema_migrations set checksum = 'other'").await;
        assert!(matches!(store.queue.migrate().await, Err(QueueError::Unusable { .. })));
    }
}

/// Records a migration that this build does not know, as the build that has it would.
async fn record(store: &TestStore, version: u32, name: &str, oldest_binary: u32) {
    let now = match store.engine {
        Engine::Postgres => "now()",
        Engine::Sqlite => "0",
    };
    store.sql(format!("insert into schema_migrations values ({version}, '{name}', 'x', {oldest_binary}, {now})")).await;
}

/// What is in the store: how many tables and migrations, and every item.
async fn everything(store: &TestStore) -> (i64, i64, String) {
    let items = store.queue.list(&Default::default()).await.unwrap();
    (
        tables(store).await,
        store.number("select count(*) from schema_migrations").await,
        serde_json::to_string(&items).unwrap(),
    )
}

/// How many tables there are; none before the first migration.
pub(crate) async fn tables(store: &TestStore) -> i64 {
    store
        .number(match store.engine {
            Engine::Postgres => "select count(*) from pg_tables where schemaname = 'workhost'",
            Engine::Sqlite => "select count(*) from sqlite_schema where type = 'table'",
        })
        .await
}
