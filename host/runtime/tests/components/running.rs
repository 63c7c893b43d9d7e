//! What attempts come to.

use std::sync::Arc;
use std::time::{Duration, Instant};

use workhost_runtime::{Control, Ended};

use crate::guest::{Guest, WORK, job, run, run_with, runtime};

const SPIN: &str = "(loop $again (br $again)) (unreachable)";

async fn outcome(guest: Guest) -> Ended {
    run(&guest.load(&runtime()).await, "null").await
}

fn limit(name: &str) -> Ended {
    Ended::Limit { limit: name.into() }
}

#[tokio::test]
async fn a_handler_answers_its_summary() {
    let handler = Guest::default().load(&runtime()).await;
    assert_eq!(run(&handler, r#"{"a":[1,2]}"#).await, Ended::Done(Some(r#"{"a":[1,2]}"#.into())));
}

#[tokio::test]
async fn a_failure_arrives_with_its_words() {
    let handler =
        Guest { run: "(call $failed (local.get $payload) (local.get $payload_len) (i32.const 1))", ..Guest::default() };
    let failed = Ended::Failed { message: r#""no disk""#.into(), permanent: true };
    assert_eq!(run(&handler.load(&runtime()).await, r#""no disk""#).await, failed);
}

#[tokio::test]
async fn a_trap_is_readable_and_costs_one_attempt() {
    let guest = Guest {
        run: r#"(if (i32.eq (local.get $payload_len) (i32.const 4)) (then (call $deep))) (call $done (local.get $payload) (local.get $payload_len))"#,
        module: "(func $deep (unreachable))",
        ..Guest::default()
    };
    let handler = guest.load(&runtime()).await;
    let Ended::Trapped { message } = run(&handler, "null").await else { panic!("no trap") };
    assert!(message.contains("unreachable") && message.contains("backtrace:") && message.contains("deep"), "{message}");
    assert_eq!(run(&handler, "1").await, Ended::Done(Some("1".into())));
}

#[tokio::test]
async fn nothing_of_an_attempt_is_left_to_the_next() {
    let guest = Guest {
        module: "(global $calls (mut i32) (i32.const 0))",
        run: "(global.set $calls (i32.add (global.get $calls) (i32.const 1))) (if (i32.gt_s (global.get $calls) (i32.const 1)) (then (unreachable))) (call $done (local.get $payload) (local.get $payload_len))",
        ..Guest::default()
    };
    let handler = guest.load(&runtime()).await;
    for _ in 0..100 {
        assert_eq!(run(&handler, "1").await, Ended::Done(Some("1".into())));
    }
}

#[tokio::test]
async fn a_guest_that_spins_gives_way_and_ends_when_it_is_ended() {
    let handler = Guest { run: SPIN, ..Guest::default() }.load(&runtime()).await;
    let control = Arc::new(Control::new());
    // One thread for both: the test goes on only because the guest gives way.
    let attempt = tokio::spawn({
        let (handler, control) = (handler.clone(), control.clone());
        async move { run_with(&handler, "null", &control).await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!attempt.is_finished());
    let asked = Instant::now();
    control.end();
    assert_eq!(attempt.await.unwrap(), Ended::Trapped { message: "the attempt was ended by the host".into() });
    assert!(asked.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_guest_that_spins_ends_when_its_future_is_dropped() {
    let handler = Guest { run: SPIN, ..Guest::default() }.load(&runtime()).await;
    let attempt = handler.run(job("null"), Arc::new(Control::new()));
    assert!(tokio::time::timeout(Duration::from_millis(50), attempt).await.is_err());
}

#[tokio::test]
async fn more_attempts_than_sandboxes_take_turns() {
    let handler = Guest::default().load(&runtime()).await;
    let attempts = (0..40).map(|_| run(&handler, "1"));
    for ended in futures::future::join_all(attempts).await {
        assert_eq!(ended, Ended::Done(Some("1".into())));
    }
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
async fn a_result_that_is_not_json_is_the_handlers_fault() {
    let run = "(call $done (i32.const 16) (i32.const 4))";
    let Ended::Trapped { message } = outcome(Guest { run, ..Guest::default() }).await else { panic!("accepted") };
    assert!(message.starts_with("the handler's result is not JSON"), "{message}");
}

#[tokio::test]
async fn progress_reaches_the_control() {
    let guest = Guest {
        run: "(call $report (local.get $payload) (local.get $payload_len)) (call $done (local.get $payload) (local.get $payload_len))",
        ..WORK
    };
    let handler = guest.load(&runtime()).await;
    let control = Arc::new(Control::new());
    assert_eq!(run_with(&handler, "[1]", &control).await, Ended::Done(Some("[1]".into())));
    assert_eq!(control.progress(), Some((1, "[1]".into())));
}

#[tokio::test]
async fn progress_is_json_within_its_limit() {
    let broken = Guest { run: "(call $report (i32.const 16) (i32.const 4)) (unreachable)", ..WORK };
    let Ended::Trapped { message } = outcome(broken).await else { panic!("accepted") };
    assert!(message.starts_with("the handler's progress snapshot is not JSON"), "{message}");
    let large = Guest { run: "(call $report (i32.const 16) (i32.const 300000)) (unreachable)", ..WORK };
    assert_eq!(outcome(large).await, limit("progress snapshot larger than 256 KiB"));
}
