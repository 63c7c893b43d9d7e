//! One serving process per SQLite file.

use workhost_queue::QueueError;

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

    async fn a_file_that_cannot_be_a_store_is_told_so(store) {
        let path = store.url.strip_prefix("sqlite://").unwrap().replace("queue.db", "text.db");
        std::fs::write(&path, "this is no database, but a text of some length, longer than a header of SQLite").unwrap();
        let error = workhost_queue::connect(&format!("sqlite://{path}"), Default::default()).await.err().unwrap();
        assert!(matches!(error, QueueError::Unusable { .. }), "{error}");
        let error = workhost_queue::connect(&format!("{}/nowhere/x.db", store.url), Default::default()).await.err().unwrap();
        assert!(error.to_string().contains("nowhere does not exist"), "{error}");
    }
}

contract_on! { Postgres:
    async fn any_number_of_hosts_serve_a_server(store) {
        let _first = store.queue.serve("first").await.unwrap();
        let _second = store.queue.serve("second").await.unwrap();
    }
}
