//! One serving process per SQLite file.

use std::time::Duration;

use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use workhost_queue::{ConnectOptions, QueueError, connect};

use crate::store::contract_on;

contract_on! { Sqlite:
    async fn a_second_server_of_a_file_is_refused_naming_the_first(store) {
        let serving = store.queue.serve("first host").await.unwrap();
        let other = store.host().await;
        match other.serve("second host").await {
            Err(QueueError::Held { what, holder }) => {
                assert!(what.contains("queue.db"), "{what}");
                assert_eq!(holder, format!("process {} (host first host)", std::process::id()));
            }
            other => panic!("{other:?}"),
        }
        drop(serving);
        let _serving = other.serve("second host").await.unwrap();
    }

    async fn a_server_that_did_not_tell_its_name_is_another_process(store) {
        let lock = format!("{}.lock", store.url.strip_prefix("sqlite://").unwrap());
        let somebody = std::fs::File::create(lock).unwrap();
        somebody.lock().unwrap();
        let held = store.queue.serve("h").await;
        assert!(matches!(&held, Err(QueueError::Held { holder, .. }) if holder == "another process"), "{held:?}");
    }

    async fn a_store_is_made_only_where_it_may_be(store) {
        let url = store.url.replace("queue.db", "none.db");
        let options = ConnectOptions { create: false, ..ConnectOptions::default() };
        let error = connect(&url, options.clone()).await.err().unwrap();
        assert!(error.to_string().contains("there is no store at"), "{error}");
        assert!(!std::path::Path::new(url.strip_prefix("sqlite://").unwrap()).exists());
        connect(&store.url, options).await.unwrap();
    }

    async fn a_file_that_is_becoming_a_store_elsewhere_is_waited_for_and_not_for_ever(store) {
        let path = store.url.strip_prefix("sqlite://").unwrap().replace("queue.db", "new.db");
        let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
        let mut somebody = SqliteConnection::connect_with(&options).await.unwrap();
        sqlx::raw_sql("create table t (a); begin; select * from t").execute(&mut somebody).await.unwrap();
        let url = format!("sqlite://{path}");
        let told = connect(&url, ConnectOptions::default()).await.err().unwrap();
        assert!(matches!(told, QueueError::Unavailable { .. }), "{told}");
        let waiting = tokio::spawn(async move { connect(&url, ConnectOptions::default()).await.map(drop) });
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!waiting.is_finished());
        sqlx::raw_sql("rollback").execute(&mut somebody).await.unwrap();
        waiting.await.unwrap().unwrap();
    }

    async fn a_file_that_cannot_be_a_store_is_told_so(store) {
        let path = store.url.strip_prefix("sqlite://").unwrap().replace("queue.db", "text.db");
        std::fs::write(&path, "this is no database, but a text of some length, longer than a header of SQLite").unwrap();
        let error = connect(&format!("sqlite://{path}"), Default::default()).await.err().unwrap();
        assert!(matches!(error, QueueError::Unusable { .. }), "{error}");
        let error = connect(&format!("{}/nowhere/x.db", store.url), Default::default()).await.err().unwrap();
        assert!(error.to_string().contains("nowhere does not exist"), "{error}");
    }
}

contract_on! { Postgres:
    async fn any_number_of_hosts_serve_a_server(store) {
        let _first = store.queue.serve("first").await.unwrap();
        let _second = store.queue.serve("second").await.unwrap();
    }
}
