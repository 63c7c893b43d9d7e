//! What files and grants are refused, and with which words.

use std::collections::BTreeMap;
use std::path::Path;

use workhost_runtime::{Database, Grants, ImportClass, Limits, LoadError, Runtime, SqlGrant};

use crate::guest::{Guest, WORK, load_bytes, runtime};

async fn refusal(bytes: &[u8]) -> LoadError {
    load_bytes(&runtime(), bytes, Grants::default()).await.err().expect("it was loaded")
}

/// The one-line text of a refusal, which has a hint.
async fn words(bytes: &[u8]) -> String {
    let error = refusal(bytes).await;
    assert!(error.hint().is_some(), "{error}");
    error.to_string()
}

#[tokio::test]
async fn a_handler_says_its_kinds_and_imports() {
    let guest = Guest { schema: r#"{"type":"object"}"#, run: "(unreachable)", ..WORK };
    let handler = guest.load(&runtime()).await;
    let [kind] = handler.kinds() else { panic!("{:?}", handler.kinds()) };
    assert_eq!((kind.kind.as_str(), kind.summary.as_str()), ("echo", "echoes"));
    assert_eq!(kind.payload_schema["type"], "object");
    assert_eq!(handler.imports()[0].name, "workhost:handler/work@0.1.0");
    assert_eq!(handler.imports()[0].class, ImportClass::Base);
    assert!(handler.digest().starts_with("sha256:") && handler.digest().len() == 71);
}

#[tokio::test]
async fn what_is_no_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let load = async |path: &Path| runtime().load(path, Grants::default()).await.err().unwrap().to_string();
    assert!(load(&dir.path().join("gone.wasm")).await.ends_with("gone.wasm does not exist"));
    assert!(load(dir.path()).await.ends_with("is a directory, not a file"));
    assert!(load(Path::new("/dev/null")).await.ends_with("is a device, not a file"));
    let socket = dir.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(load(&socket).await.ends_with("is a socket, not a file"));
}

#[tokio::test]
async fn a_fifo_is_named_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.is_ok_and(|status| status.success()), "no mkfifo");
    let error = runtime().load(&fifo, Grants::default()).await.err().unwrap();
    assert!(error.to_string().ends_with("is a FIFO, not a file"), "{error}");
}

#[tokio::test]
async fn wrong_content_is_named() {
    assert!(words(b"").await.ends_with("is empty"));
    assert!(words(b"\x7fELF\x02\x01\x01").await.contains("is an ELF file"));
    assert!(words(b"PK\x03\x04").await.contains("is something else"));
    assert!(words(&wat::parse_str("(module)").unwrap()).await.contains("is a core module"));
    assert!(words(b";; a comment\n(component)").await.contains("text format"));
    assert!(words(b" (module)").await.contains("text format"));
    assert!(words(b"\0asm\x02\0\x01\0").await.contains("unknown version"));
    assert!(words(b"\0asm").await.contains("it ends after 4 bytes"));
}

#[tokio::test]
async fn precompiled_code_is_refused() {
    let engine = wasmtime::Engine::default();
    let machine_code = engine.precompile_component(&wat::parse_str("(component)").unwrap()).unwrap();
    assert!(words(&machine_code).await.contains("precompiled machine code"));
}

#[tokio::test]
async fn a_component_cut_off_anywhere_is_no_handler() {
    let whole = Guest::default().component();
    for tenth in 1..10 {
        let error = refusal(&whole[..whole.len() * tenth / 10]).await;
        assert!(matches!(error, LoadError::Invalid { .. } | LoadError::NotAHandler { .. }), "{tenth}: {error}");
    }
}

#[tokio::test]
async fn a_file_that_is_too_large_is_not_read() {
    let runtime = Runtime::new(Limits { attempts: 1, component_bytes: 1024, ..Limits::default() }).unwrap();
    let error = Guest::default().load_with(&runtime, Grants::default()).await.err().unwrap();
    assert!(error.to_string().ends_with("is larger than 1 KiB"), "{error}");
}

#[tokio::test]
async fn a_component_of_another_world_is_no_handler() {
    let other =
        r#"(component (component $c) (instance $i (instantiate $c)) (export "wasi:cli/run@0.2.6" (instance $i)))"#;
    let words = words(&wat::parse_str(other).unwrap()).await;
    assert!(words.contains("no handler") && words.contains("`wasi:cli/run@0.2.6`"), "{words}");
}

#[tokio::test]
async fn another_version_of_the_contract_is_named() {
    for (version, needs) in [("0.2.0", "0.2"), ("1.4.0", "1")] {
        let words = words(&Guest { version, ..Guest::default() }.component()).await;
        assert_eq!(words, format!("the component needs workhost:handler {needs}, this host offers 0.1"));
    }
}

#[tokio::test]
async fn a_field_with_another_name_is_a_mismatch() {
    let words = words(&Guest { last_field: "resume-at", ..Guest::default() }.component()).await;
    assert!(words.contains("does not fit the contract") && words.contains("resume"), "{words}");
}

#[tokio::test]
async fn refused_imports_are_all_listed_with_the_grant_that_would_help() {
    let imports = r#"
        (import "workhost:handler/sql@0.1.0" (instance))
        (import "workhost:handler/retention@0.1.0" (instance))
        (import "workhost:handler/queue@0.1.0" (instance))
        (import "wasi:http/types@0.2.6" (instance))
        (import "wasi:io/poll@0.3.0" (instance))
        (import "own" (func))"#;
    let error = refusal(&Guest { imports, ..Guest::default() }.component()).await;
    let LoadError::ImportsRefused { imports } = &error else { panic!("{error}") };
    assert_eq!(imports.len(), 6, "{error}");
    let hint = error.hint().unwrap();
    assert!(hint.contains("[handlers.sql.NAME]") && hint.contains("[handlers.retention]"), "{hint}");
    assert!(hint.contains("no grant for `wasi:http/types@0.2.6`"), "{hint}");
}

#[tokio::test]
async fn what_language_runtimes_drag_in_is_let_in() {
    let imports = r#"
        (import "wasi:cli/environment@0.2.6" (instance (export "get-environment" (func (result (list (tuple string string)))))))
        (import "wasi:sockets/instance-network@0.2.12" (instance))
        (import "wasi:filesystem/preopens@0.2.0" (instance))"#;
    let handler = Guest { imports, ..Guest::default() }.load(&runtime()).await;
    assert!(handler.imports().iter().all(|import| import.class == ImportClass::Inert), "{:?}", handler.imports());
}

#[tokio::test]
async fn a_describe_that_loops_or_traps_is_refused() {
    let looping = Guest { module: "(start $spin) (func $spin (loop $again (br $again)))", ..Guest::default() };
    assert_eq!(words(&looping.component()).await, "describe: it did not answer within 0.5 s");
    let trapping = Guest { module: "(start $trap) (func $trap (unreachable))", ..Guest::default() };
    assert!(words(&trapping.component()).await.starts_with("describe: it trapped: wasm trap: wasm `unreachable`"));
    let nonsense = Guest { schema: "{", ..Guest::default() };
    assert!(words(&nonsense.component()).await.contains("of kind `echo` is not JSON"));
}

#[tokio::test]
async fn a_statement_that_does_not_prepare_is_named_and_an_unused_grant_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("app.db");
    std::fs::write(&path, "").unwrap();
    let database = Database::connect("app", &format!("sqlite://{}", path.display())).await.unwrap();
    let grants = |statement: &str| {
        let grant = SqlGrant { database: database.clone(), statement: statement.into() };
        Grants { sql: BTreeMap::from([("count".to_owned(), grant)]), ..Grants::default() }
    };
    let load = async |statement| Guest::default().load_with(&runtime(), grants(statement)).await;
    assert_eq!(load("select 1").await.unwrap().unused_grants(), ["sql"]);
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
