//! What is let in by grants, and what is not.

use std::collections::BTreeMap;

use workhost_runtime::{Database, Grants, ImportClass, LoadError, SqlGrant};

use crate::guest::{Guest, backends, load_bytes_with, refusal, runtime};

#[tokio::test]
async fn refused_imports_are_all_listed_with_the_grant_that_would_help() {
    let imports = r#"
        (import "workhost:handler/sql@0.1.0" (instance))
        (import "workhost:handler/retention@0.1.0" (instance))
        (import "workhost:handler/queue@0.1.0" (instance))
        (import "workhost:handler/nothing@0.1.0" (instance))
        (import "wasi:http/types@0.2.6" (instance))
        (import "wasi:http/incoming-handler@0.2.6" (instance))
        (import "wasi:io/poll@0.3.0" (instance))
        (import "own" (func))"#;
    let error = refusal(&Guest { imports, ..Guest::default() }.component()).await;
    let LoadError::ImportsRefused { imports } = &error else { panic!("{error}") };
    assert_eq!(imports.len(), 8, "{error}");
    let hint = error.hint().unwrap();
    assert!(hint.contains("[handlers.sql.NAME]") && hint.contains("[handlers.retention]"), "{hint}");
    assert!(hint.contains("`wasi:http/types@0.2.6` with [handlers.http]"), "{hint}");
    assert!(hint.contains("no grant for `wasi:http/incoming-handler@0.2.6`"), "{hint}");
}

#[tokio::test]
async fn what_language_runtimes_drag_in_is_let_in() {
    let imports = r#"
        (import "wasi:cli/environment@0.2.6" (instance (export "get-environment" (func (result (list (tuple string string)))))))
        (import "wasi:sockets/instance-network@0.2.12" (instance))
        (import "wasi:filesystem/preopens@0.2.0" (instance))"#;
    let handler = Guest { imports, ..Guest::default() }.load(&runtime()).await;
    assert!(
        handler.examined().imports.iter().all(|import| import.class == ImportClass::Inert),
        "{:?}",
        handler.examined().imports
    );
}

#[tokio::test]
async fn a_statement_that_does_not_prepare_is_named_and_an_unused_grant_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("app.db");
    std::fs::write(&path, "").unwrap();
    let database = Database::connect("app", &format!("sqlite://{}", path.display())).await.unwrap();
    let grants = |statement: &str| {
        let grant = SqlGrant { database: "app".into(), statement: statement.into(), rows: None, time: None };
        Grants { sql: BTreeMap::from([("count".to_owned(), grant)]), ..Grants::default() }
    };
    let backends = backends([database]);
    let bytes = Guest::default().component();
    let load = async |statement| load_bytes_with(&runtime(), &bytes, grants(statement), &backends).await;
    assert_eq!(load("select 1").await.unwrap().examined().unused_grants, ["sql"]);
    let error = load("select count(*) from nowhere").await.err().unwrap().to_string();
    assert_eq!(error, "statement `count` on database `app`: no such table: nowhere");
    for (statement, word) in [("select 1; select 2", "more than one"), ("attach 'x' as y", "`attach`"), ("", "empty")] {
        let error = load(statement).await.err().unwrap().to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[tokio::test]
async fn a_memory_beyond_all_bounds_is_refused() {
    let grants = Grants { memory_bytes: Some(5 << 30), ..Grants::default() };
    let error = Guest::default().load_with(&runtime(), grants).await.err().unwrap().to_string();
    assert_eq!(error, "a memory of 5 GiB cannot be granted: the most is 4 GiB");
}
