//! How an attempt ended: every way from wasm to words, in one place.

use wasmtime::component::ResourceTableError;
use wasmtime::{Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use crate::bindings::workhost::handler::types::{Ending, Failure};
use crate::control::EndedByHost;
use crate::limiter::LimitHit;
use crate::limits::Limits;
use crate::text;

/// How an attempt ended. Texts are for people: no control codes, bounded length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The job is complete, with the handler's summary, a JSON document.
    Done(Option<String>),
    /// The handler stopped early, with its summary, a JSON document. Whether it was asked to is for the
    /// worker to know.
    Stopped(Option<String>),
    /// The handler says that it could not do the job, or its sandbox could not be made ready.
    Failed {
        /// What went wrong.
        message: String,
        /// Whether trying again cannot help.
        permanent: bool,
    },
    /// The guest broke: a panic, a bad access, a breach of the contract. Also what is left of an attempt
    /// that was ended by its [`Control`](crate::Control).
    Trapped {
        /// The panic's own text and place where there is one, and a backtrace.
        message: String,
    },
    /// The guest hit a limit.
    Limit {
        /// Its name: `memory limit of 64 MiB`, `result larger than 1 MiB`, `stack overflow`.
        limit: String,
    },
}

/// The guest sent what the contract does not allow.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BrokeContract(pub(crate) String);

/// What a call of `run` came to. `stderr` is the end of what the guest printed there.
pub(crate) fn from_run(outcome: wasmtime::Result<Result<Ending, Failure>>, stderr: &str, limits: &Limits) -> Ended {
    let checked =
        |summary, made: fn(Option<String>) -> Ended| match checked_json("result", summary, limits.result_bytes) {
            Ok(summary) => made(summary),
            Err(error) => from_error(&error, stderr, limits),
        };
    match outcome {
        Ok(Ok(Ending::Done(summary))) => checked(summary, Ended::Done),
        Ok(Ok(Ending::Stopped(summary))) => checked(summary, Ended::Stopped),
        Ok(Err(failure)) => {
            Ended::Failed { message: for_people(&failure.message, limits), permanent: failure.permanent }
        }
        Err(error) => from_error(&error, stderr, limits),
    }
}

/// A document from the guest that is small enough and is JSON.
pub(crate) fn checked_json(what: &str, document: Option<String>, limit: usize) -> wasmtime::Result<Option<String>> {
    if let Some(document) = &document {
        if document.len() > limit {
            return Err(LimitHit(format!("{what} larger than {}", text::size(limit))).into());
        }
        // Parsed whole, so that depth counts too: what is stored will be parsed by others.
        if let Err(error) = serde_json::from_str::<serde_json::Value>(document) {
            return Err(BrokeContract(format!("the handler's {what} is not JSON: {error}")).into());
        }
    }
    Ok(document)
}

/// What a call into the guest failed with.
pub(crate) fn from_error(error: &wasmtime::Error, stderr: &str, limits: &Limits) -> Ended {
    if let Some(limit) = limit(error, limits) {
        return Ended::Limit { limit };
    }
    let message = if let Some(ended) = error.downcast_ref::<EndedByHost>() {
        return Ended::Trapped { message: ended.to_string() };
    } else if let Some(broke) = error.downcast_ref::<BrokeContract>() {
        broke.to_string()
    } else if let Some(I32Exit(code)) = error.downcast_ref() {
        format!("the handler called exit({code}); a handler returns its outcome")
    } else {
        trap(error, stderr)
    };
    Ended::Trapped { message: for_people(&message, limits) }
}

/// The name of the limit that was hit, if one was.
fn limit(error: &wasmtime::Error, limits: &Limits) -> Option<String> {
    if let Some(hit) = error.downcast_ref::<LimitHit>() {
        return Some(hit.to_string());
    }
    if let Some(Trap::StackOverflow) = error.downcast_ref() {
        return Some("stack overflow".into());
    }
    if let Some(ResourceTableError::Full) = error.downcast_ref() {
        return Some(format!("limit of {} open files, streams and other host resources", limits.resources));
    }
    // These have no type that can be asked for.
    let root = error.root_cause().to_string();
    if root.contains("fuel allocated for hostcalls") {
        return Some(format!("value larger than {} passed to the host", text::size(limits.hostcall_bytes)));
    }
    if root.starts_with("resource limit exceeded: ") {
        return Some(format!("limit on instances, tables and memories ({root})"));
    }
    if root.starts_with("requested len ") {
        return Some(format!("limit of {} random bytes at a time", text::size(limits.random_bytes as usize)));
    }
    None
}

/// What happened, by the guest's own words if it left any, and where.
fn trap(error: &wasmtime::Error, stderr: &str) -> String {
    let mut message = own_words(stderr).unwrap_or_default();
    if !message.is_empty() {
        message.push('\n');
    }
    message.push_str(&error.root_cause().to_string());
    if let Some(frames) = error.downcast_ref::<WasmBacktrace>().map(frames)
        && !frames.is_empty()
    {
        message.push_str("\nbacktrace:\n");
        message.push_str(&frames);
    }
    message
}

/// A Rust panic from its place on, or else the last lines on stderr.
fn own_words(stderr: &str) -> Option<String> {
    let lines: Vec<&str> = stderr
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty() && !line.starts_with("note: run with `RUST_BACKTRACE"))
        .collect();
    if let Some(first) = lines.iter().position(|line| line.contains("panicked at ")) {
        let place = &lines[first][lines[first].find("panicked at ").unwrap_or(0)..];
        return Some([&[place], &lines[first + 1..]].concat().join("\n"));
    }
    let last = &lines[lines.len().saturating_sub(10)..];
    if last.is_empty() { None } else { Some(format!("last on stderr:\n{}", last.join("\n"))) }
}

/// The innermost frames, demangled, one per line.
fn frames(backtrace: &WasmBacktrace) -> String {
    const MOST: usize = 24;
    let all = backtrace.to_string();
    let frames: Vec<&str> = all.lines().skip(1).filter(|line| !line.starts_with("note:")).collect();
    let mut shown = frames[..frames.len().min(MOST)].join("\n");
    if frames.len() > MOST {
        shown.push_str(&format!("\n  … {} more", frames.len() - MOST));
    }
    shown
}

fn for_people(message: &str, limits: &Limits) -> String {
    text::shortened(text::harmless(message), limits.error_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(error: impl Into<wasmtime::Error>, stderr: &str) -> Ended {
        from_error(&error.into(), stderr, &Limits::default())
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
    }

    #[test]
    fn a_result_is_json_within_its_limit() {
        let limits = Limits { result_bytes: 8, ..Limits::default() };
        let run = |summary: &str| from_run(Ok(Ok(Ending::Done(Some(summary.into())))), "", &limits);
        assert_eq!(run("[1,2,3]"), Ended::Done(Some("[1,2,3]".into())));
        assert_eq!(run("[1,2,3,4]"), Ended::Limit { limit: "result larger than 8 bytes".into() });
        assert!(
            matches!(run("{"), Ended::Trapped { message } if message.starts_with("the handler's result is not JSON"))
        );
    }

    #[test]
    fn a_failure_keeps_its_words_without_control_codes_and_within_bounds() {
        let limits = Limits { error_bytes: 10, ..Limits::default() };
        let failure = Failure { message: "\u{1b}123456789".into(), permanent: true };
        assert_eq!(
            from_run(Ok(Err(failure)), "", &limits),
            Ended::Failed { message: "\\u{1b}1234… (5 bytes more)".into(), permanent: true }
        );
    }
}
