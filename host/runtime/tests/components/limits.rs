//! Limits are held, and told by name.

use workhost_runtime::Ended;

use crate::guest::{Guest, WORK, run, runtime};

async fn outcome(guest: Guest) -> Ended {
    run(&guest.load(&runtime()).await, "null").await
}

fn limit(name: &str) -> Ended {
    Ended::Limit { limit: name.into() }
}

#[tokio::test]
async fn memory_is_limited_by_name() {
    let run = "(loop $again (drop (memory.grow (i32.const 16))) (br $again)) (unreachable)";
    assert_eq!(outcome(Guest { run, ..Guest::default() }).await, limit("memory limit of 64 MiB"));
}

#[tokio::test]
async fn many_memories_count_together() {
    let guest = Guest {
        imports: r#"(core module $big (memory 600)) (core instance $a (instantiate $big)) (core instance $b (instantiate $big))"#,
        ..Guest::default()
    };
    let error = guest.load_with(&runtime(), Default::default()).await.err().unwrap().to_string();
    assert!(error.contains("memory limit of 64 MiB"), "{error}");
}

#[tokio::test]
async fn a_large_table_is_limited_by_name() {
    let guest = Guest {
        module: "(table $t 1 funcref)",
        run: "(loop $again (drop (table.grow $t (ref.null func) (i32.const 1000))) (br $again)) (unreachable)",
        ..Guest::default()
    };
    assert_eq!(outcome(guest).await, limit("limit of 200000 table elements"));
}

#[tokio::test]
async fn deep_recursion_is_a_stack_overflow() {
    let guest = Guest {
        module: "(func $deep (param i64) (result i64) (i64.add (i64.const 1) (call $deep (i64.add (local.get 0) (i64.const 1)))))",
        run: "(drop (call $deep (i64.const 1))) (unreachable)",
        ..Guest::default()
    };
    assert_eq!(outcome(guest).await, limit("stack overflow"));
}

#[tokio::test]
async fn a_large_result_is_limited_by_name() {
    let run = "(call $done (i32.const 0) (i32.const 1048577))";
    assert_eq!(outcome(Guest { run, ..Guest::default() }).await, limit("result larger than 1 MiB"));
}

#[tokio::test]
async fn a_huge_value_is_refused_before_it_is_copied() {
    let run = "(drop (memory.grow (i32.const 400))) (call $done (i32.const 0) (i32.const 17000000))";
    assert_eq!(outcome(Guest { run, ..Guest::default() }).await, limit("value larger than 16 MiB passed to the host"));
}

#[tokio::test]
async fn progress_is_json_within_its_limit() {
    let broken = Guest { run: "(call $report (i32.const 16) (i32.const 4)) (unreachable)", ..WORK };
    let Ended::Trapped { message } = outcome(broken).await else { panic!("accepted") };
    assert!(message.starts_with("the handler's progress snapshot is not JSON"), "{message}");
    let large = Guest { run: "(call $report (i32.const 16) (i32.const 70000)) (unreachable)", ..WORK };
    assert_eq!(outcome(large).await, limit("progress snapshot larger than 64 KiB"));
}
