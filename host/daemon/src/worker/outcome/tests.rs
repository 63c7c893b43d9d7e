use super::*;

const TIMEOUT: Duration = Duration::from_secs(300);

/// Every cause × every way the handler ended × cancel requested or not × shutdown or not. A column is a way the handler
/// ended, a line a cause with what had been asked.
const TABLE: &str = "
cause         asked            | done      stopped   failed  trapped limit   running
returned      -                | succeeded unasked   failed  trapped limit   nothing
returned      cancel           | cancelled+ cancelled+ failed trapped limit  nothing
returned      shutdown         | succeeded released  failed  trapped limit   nothing
returned      cancel,shutdown  | cancelled+ cancelled+ failed trapped limit  nothing
lost          -                | nothing   nothing   nothing nothing nothing nothing
lost          cancel           | nothing   nothing   nothing nothing nothing nothing
lost          shutdown         | nothing   nothing   nothing nothing nothing nothing
lost          cancel,shutdown  | nothing   nothing   nothing nothing nothing nothing
self-stopped  -                | nothing   nothing   nothing nothing nothing nothing
self-stopped  cancel           | nothing   nothing   nothing nothing nothing nothing
self-stopped  shutdown         | nothing   nothing   nothing nothing nothing nothing
self-stopped  cancel,shutdown  | nothing   nothing   nothing nothing nothing nothing
grace-over    cancel           | cancelled+ cancelled+ failed trapped limit  cancelled
grace-over    shutdown         | succeeded released  failed  trapped limit   released
grace-over    cancel,shutdown  | cancelled+ cancelled+ failed trapped limit  cancelled
timed-out     -                | succeeded timeout   failed  trapped limit   timeout
timed-out     cancel           | cancelled+ cancelled+ failed trapped limit  timeout
timed-out     shutdown         | succeeded released  failed  trapped limit   timeout
timed-out     cancel,shutdown  | cancelled+ cancelled+ failed trapped limit  timeout
";

fn brake(name: &str) -> Option<Brake> {
    match name {
        "returned" => None,
        "lost" => Some(Brake::Lost),
        "self-stopped" => Some(Brake::SelfStopped),
        "grace-over" => Some(Brake::GraceOver),
        "timed-out" => Some(Brake::TimedOut),
        other => panic!("{other}"),
    }
}

fn handler(name: &str) -> Ended {
    match name {
        "done" => Ended::Done(Some(r#"{"deleted":3}"#.into())),
        "stopped" => Ended::Stopped(Some(r#"{"deleted":3}"#.into())),
        "failed" => Ended::Failed { message: "no such user".into(), permanent: false },
        "trapped" => Ended::Trapped { message: "panicked".into() },
        "limit" => Ended::Limit { limit: "memory limit of 64 MiB".into() },
        "running" => Ended::ByHost,
        other => panic!("{other}"),
    }
}

/// The table's word for an outcome; `+` says that the summary is kept.
fn word(outcome: Option<Outcome>) -> String {
    let kept = |summary: &Option<Json>| if summary.is_some() { "+" } else { "" };
    match outcome {
        None => "nothing".into(),
        Some(Outcome::Succeeded(summary)) => {
            assert!(summary.is_some());
            "succeeded".into()
        }
        Some(Outcome::Cancelled(summary)) => format!("cancelled{}", kept(&summary)),
        Some(Outcome::Released) => "released".into(),
        Some(Outcome::Failed { error }) => match error.as_str() {
            "no such user" => "failed",
            "panicked" => "trapped",
            "memory limit of 64 MiB" => "limit",
            "timeout of 5m" => "timeout",
            "the handler stopped early though nobody asked it to" => "unasked",
            other => panic!("{other}"),
        }
        .into(),
        Some(retry @ Outcome::Retry { .. }) => panic!("{retry:?}"),
    }
}

/// Each cell of the table: the attempt, and the word for what becomes of it.
fn cells() -> Vec<(Over, &'static str)> {
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let columns: Vec<&str> = lines.next().unwrap().split_whitespace().skip(3).collect();
    let mut cells = Vec::new();
    for line in lines {
        let words: Vec<&'static str> = line.split_whitespace().collect();
        let (brake, asked) = (brake(words[0]), words[1]);
        let asked = Asked {
            cancel: asked.contains("cancel"),
            shutdown: asked.contains("shutdown"),
            deadline: brake == Some(Brake::TimedOut),
        };
        assert_eq!(words.len(), 3 + columns.len(), "{line}");
        for (column, expected) in columns.iter().zip(&words[3..]) {
            cells.push((Over { brake, handler: handler(column), asked }, *expected));
        }
    }
    cells
}

#[test]
fn an_attempt_becomes_what_the_table_says() {
    let cells = cells();
    assert_eq!(cells.len(), 19 * 6);
    for (over, expected) in cells {
        assert_eq!(word(decide(over.clone(), TIMEOUT, None)), expected, "{over:?}");
    }
}

#[test]
fn only_failures_are_retried_where_the_kind_opted_in_and_no_cancel_was_requested() {
    let delay = Duration::from_secs(10);
    for (over, expected) in cells() {
        let failure = ["failed", "trapped", "limit", "timeout", "unasked"].contains(&expected);
        let retried =
            matches!(decide(over.clone(), TIMEOUT, Some(delay)), Some(Outcome::Retry { delay: d, .. }) if d == delay);
        assert_eq!(retried, failure && !over.asked.cancel, "{over:?}");
    }
}

#[test]
fn a_permanent_failure_is_not_retried() {
    let handler = Ended::Failed { message: "no such user".into(), permanent: true };
    let over = Over { brake: None, handler, asked: Asked::default() };
    let failed = Outcome::Failed { error: "no such user".into() };
    assert_eq!(decide(over, TIMEOUT, Some(Duration::ZERO)), Some(failed));
}

#[test]
fn who_stops_at_the_deadline_has_timed_out() {
    let asked = Asked { deadline: true, ..Asked::default() };
    let over = Over { brake: None, handler: handler("stopped"), asked };
    assert_eq!(word(decide(over, TIMEOUT, None)), "timeout");
}

#[test]
fn a_summary_that_is_no_json_fails_the_attempt() {
    for handler in [Ended::Done(Some("{".into())), Ended::Stopped(Some("{".into()))] {
        for (cancel, shutdown) in [(true, false), (false, true), (true, true)] {
            let asked = Asked { cancel, shutdown, deadline: false };
            let over = Over { brake: None, handler: handler.clone(), asked };
            let Some(Outcome::Failed { error }) = decide(over, TIMEOUT, Some(Duration::ZERO)) else { panic!("kept") };
            assert!(error.contains("no JSON"), "{error}");
        }
    }
}
