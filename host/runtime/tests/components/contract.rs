//! Components that are no handler for this host, and what a handler says of itself.

use workhost_runtime::ImportClass;

use crate::guest::{Guest, WORK, runtime, words};

#[tokio::test]
async fn a_handler_says_its_kinds_and_imports() {
    let guest = Guest { schema: r#"{"type":"object"}"#, run: "(unreachable)", ..WORK };
    let handler = guest.load(&runtime()).await;
    let [kind] = &handler.examined().kinds[..] else { panic!("{:?}", handler.examined().kinds) };
    assert_eq!((kind.kind.as_str(), kind.summary.as_str()), ("echo", "echoes"));
    assert_eq!(kind.payload_schema["type"], "object");
    assert_eq!(handler.examined().imports[0].name, "workhost:handler/work@0.1.0");
    assert_eq!(handler.examined().imports[0].class, ImportClass::Base);
    assert!(handler.examined().digest.starts_with("sha256:") && handler.examined().digest.len() == 71);
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
async fn a_describe_that_loops_or_traps_is_refused() {
    let looping = Guest { module: "(start $spin) (func $spin (loop $again (br $again)))", ..Guest::default() };
    assert_eq!(words(&looping.component()).await, "describe: it did not answer within 0.5 s");
    let trapping = Guest { module: "(start $trap) (func $trap (unreachable))", ..Guest::default() };
    assert!(words(&trapping.component()).await.starts_with("describe: it trapped: wasm trap: wasm `unreachable`"));
    let nonsense = Guest { schema: "{", ..Guest::default() };
    assert!(words(&nonsense.component()).await.contains("of kind `echo` is not JSON"));
}
