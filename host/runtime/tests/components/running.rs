//! What attempts come to.

use std::sync::Arc;
use std::time::{Duration, Instant};

use workhost_runtime::{Control, Ended};

use crate::guest::{Guest, WORK, job, run, run_with, runtime};

const SPIN: &str = "(loop $again (br $again)) (unreachable)";

async fn outcome(guest: Guest) -> Ended {
    run(&guest.load(&runtime()).await, "null").await
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
    assert_eq!(attempt.await.unwrap(), Ended::ByHost);
    assert!(asked.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_guest_that_spins_ends_by_itself_when_its_time_is_over() {
    let handler = Guest { run: SPIN, ..Guest::default() }.load(&runtime()).await;
    let control = Arc::new(Control::new());
    control.run_until(tokio::time::Instant::now() + Duration::from_millis(50));
    assert_eq!(run_with(&handler, "null", &control).await, Ended::ByHost);
}

#[tokio::test]
async fn a_guest_that_spins_ends_when_its_future_is_dropped() {
    let handler = Guest { run: SPIN, ..Guest::default() }.load(&runtime()).await;
    let attempt = handler.run(job("null"), Arc::new(Control::new()));
    assert!(tokio::time::timeout(Duration::from_millis(50), attempt).await.is_err());
}

#[tokio::test]
async fn more_attempts_than_sandboxes_take_turns() {
    let run = "(call $report (local.get $payload) (local.get $payload_len)) (if (i32.eq (local.get $payload_len) (i32.const 4)) (then (loop $again (br $again)))) (call $done (local.get $payload) (local.get $payload_len))";
    let handler = Guest { run, ..WORK }.load(&runtime()).await;
    // All the sandboxes that the runtime of these tests has.
    let spinning: Vec<_> = (0..4)
        .map(|_| {
            let (handler, control) = (handler.clone(), Arc::new(Control::new()));
            let attempt = {
                let control = control.clone();
                async move { run_with(&handler, "null", &control).await }
            };
            (tokio::spawn(attempt), control)
        })
        .collect();
    while spinning.iter().any(|(_, control)| control.progress().is_none()) {
        tokio::task::yield_now().await;
    }
    let mut one_more = std::pin::pin!(handler.run(job("1"), Arc::new(Control::new())));
    assert!(tokio::time::timeout(Duration::from_millis(100), &mut one_more).await.is_err(), "it found a fifth sandbox");
    for (_, control) in &spinning {
        control.end();
    }
    assert_eq!(one_more.await, Ended::Done(Some("1".into())));
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
