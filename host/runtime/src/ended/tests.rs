//! Every way out of wasm, in words.

use super::*;

fn ended(error: impl Into<wasmtime::Error>, stderr: &str) -> Ended {
    from_error(&error.into(), stderr, &Limits::default(), &Mask::default()).into()
}

fn trapped(error: impl Into<wasmtime::Error>, stderr: &str) -> String {
    match ended(error, stderr) {
        Ended::Trapped { message } => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_panic_is_told_in_its_own_words_from_its_place_on() {
    let stderr = "working\n\nthread 'main' (1) panicked at src/lib.rs:7:9:\nno \u{1b}[31msuch row\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
    let message = trapped(Trap::UnreachableCodeReached, stderr);
    assert_eq!(
        message,
        "panicked at src/lib.rs:7:9:\nno \\u{1b}[31msuch row\nwasm trap: wasm `unreachable` instruction executed"
    );
}

#[test]
fn other_languages_are_quoted_from_the_end_of_stderr() {
    assert_eq!(
        trapped(Trap::IntegerDivisionByZero, "oh no\n"),
        "last on stderr:\noh no\nwasm trap: integer divide by zero"
    );
    assert_eq!(trapped(Trap::IntegerDivisionByZero, ""), "wasm trap: integer divide by zero");
}

#[test]
fn exit_is_no_success() {
    assert_eq!(trapped(I32Exit(0), ""), "the handler called exit(0); a handler returns its outcome");
}

#[test]
fn limits_are_told_by_name() {
    assert_eq!(ended(Trap::StackOverflow, ""), Ended::Limit { limit: "stack overflow".into() });
    assert_eq!(
        ended(LimitHit("memory limit of 64 MiB".into()), ""),
        Ended::Limit { limit: "memory limit of 64 MiB".into() }
    );
    let counted = wasmtime::Error::msg("resource limit exceeded: memory count too high at 5");
    assert_eq!(ended(counted, ""), Ended::Limit { limit: "limit of 4 memories".into() });
    let limits = Limits::default();
    for (what, told) in [
        ("table", format!("limit of {} tables", limits.tables)),
        ("instance", format!("limit of {} core instances", limits.core_instances)),
        ("fiber", "limit on instances, tables and memories (fiber count too high at 5)".to_owned()),
    ] {
        let counted = wasmtime::Error::msg(format!("resource limit exceeded: {what} count too high at 5"));
        assert_eq!(ended(counted, ""), Ended::Limit { limit: told });
    }
}

#[test]
fn a_result_is_json_within_its_limit() {
    let limits = Limits { result_bytes: 8, ..Limits::default() };
    let run = |summary: &str| from_run(Ok(Ok(Ending::Done(Some(summary.into())))), "", &limits, &Mask::default());
    assert_eq!(run("[1,2,3]"), Ended::Done(Some("[1,2,3]".into())));
    assert_eq!(run("[1,2,34]"), Ended::Done(Some("[1,2,34]".into())));
    assert_eq!(run("[1,2,3,4]"), Ended::Limit { limit: "result larger than 8 bytes".into() });
    assert!(matches!(run("{"), Ended::Trapped { message } if message.starts_with("the handler's result is not JSON")));
}

#[test]
fn a_failure_keeps_its_words_without_control_codes_and_within_bounds() {
    let limits = Limits { error_bytes: 10, ..Limits::default() };
    let failure = Failure { message: "\u{1b}123456789".into(), permanent: true };
    assert_eq!(
        from_run(Ok(Err(failure)), "", &limits, &Mask::default()),
        Ended::Failed { message: "\\u{1b}1234… (5 bytes more)".into(), permanent: true }
    );
}
