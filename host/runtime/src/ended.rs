//! How an attempt ended: every way from wasm to words, in one place.

mod backtrace;
mod words;

use wasmtime::Trap;
use wasmtime::component::ResourceTableError;
use wasmtime_wasi::I32Exit;
use wasmtime_wasi_http::FieldMapError;

use crate::bindings::workhost::handler::types::{Ending, Failure};
use crate::capability::secrets::Mask;
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
    /// The guest broke: a panic, a bad access, a breach of the contract.
    Trapped {
        /// The panic's own text and place where there is one, and a backtrace.
        message: String,
    },
    /// The guest hit a limit.
    Limit {
        /// Its name: `memory limit of 64 MiB`, `result larger than 1 MiB`, `stack overflow`.
        limit: String,
    },
    /// It was still running when it was ended by its [`Control`](crate::Control), or by a host call that learnt that the
    /// item is another's.
    ByHost,
}

/// The guest sent what the contract does not allow.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BrokeContract(pub(crate) String);

/// What a call of `run` came to. `stderr` is the end of what the guest printed there.
pub(crate) fn from_run(
    outcome: wasmtime::Result<Result<Ending, Failure>>,
    stderr: &str,
    limits: &Limits,
    mask: &Mask,
) -> Ended {
    let checked =
        |summary, made: fn(Option<String>) -> Ended| match checked_json("result", summary, limits.result_bytes) {
            Ok(summary) => made(summary),
            Err(error) => from_error(&error, stderr, limits, mask).into(),
        };
    match outcome {
        Ok(Ok(Ending::Done(summary))) => checked(summary, Ended::Done),
        Ok(Ok(Ending::Stopped(summary))) => checked(summary, Ended::Stopped),
        Ok(Err(failure)) => {
            Ended::Failed { message: for_people(failure.message, limits, mask), permanent: failure.permanent }
        }
        Err(error) => from_error(&error, stderr, limits, mask).into(),
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

/// How a guest broke; the texts are those of [`Ended`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    Trap(String),
    Limit(String),
}

impl From<Broken> for Ended {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Trap(message) => Ended::Trapped { message },
            Broken::Limit(limit) => Ended::Limit { limit },
        }
    }
}

/// What a call into the guest failed with.
pub(crate) fn from_error(error: &wasmtime::Error, stderr: &str, limits: &Limits, mask: &Mask) -> Broken {
    if let Some(limit) = limit(error, limits) {
        return Broken::Limit(limit);
    }
    let message = if let Some(broke) = error.downcast_ref::<BrokeContract>() {
        broke.to_string()
    } else if let Some(I32Exit(code)) = error.downcast_ref() {
        format!("the handler called exit({code}); a handler returns its outcome")
    } else {
        words::trap(error, stderr)
    };
    Broken::Trap(for_people(message, limits, mask))
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
    if let Some(FieldMapError::TotalSizeTooBig | FieldMapError::TooManyFields) = error.downcast_ref() {
        return Some(format!("limit of {} of headers in one place", text::size(2 * limits.http_header_bytes)));
    }
    // These have no type that can be asked for.
    let root = error.root_cause().to_string();
    if root.contains("fuel allocated for hostcalls") {
        return Some(format!("value larger than {} passed to the host", text::size(limits.hostcall_bytes)));
    }
    if root.contains("store handle limit exceeded") {
        return Some(format!("limit of {} handles of resources", limits.component_handles));
    }
    if let Some(what) = root.strip_prefix("resource limit exceeded: ") {
        return Some(match what.split_once(" count too high").map(|(what, _)| what) {
            Some("memory") => format!("limit of {} memories", limits.memories),
            Some("table") => format!("limit of {} tables", limits.tables),
            Some("instance") => format!("limit of {} core instances", limits.core_instances),
            _ => format!("limit on instances, tables and memories ({what})"),
        });
    }
    if root.starts_with("requested len ") {
        return Some(format!("limit of {} random bytes at a time", text::size(limits.random_bytes as usize)));
    }
    None
}

fn for_people(message: String, limits: &Limits, mask: &Mask) -> String {
    text::harmless(&mask.apply(message), limits.error_bytes)
}

#[cfg(test)]
mod tests;
