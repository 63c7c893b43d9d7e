//! Asking a component which kinds it runs.

use std::sync::Arc;

use wasmtime_wasi::WasiCtxBuilder;

use crate::bindings::exports::workhost::handler::handler;
use crate::bindings::{Sandbox, SandboxPre};
use crate::capability::secrets::Mask;
use crate::capability::{Caller, Contexts};
use crate::control::Control;
use crate::ended::{self, Broken};
use crate::error::LoadError;
use crate::handler::{Granted, KindDescription};
use crate::job::Job;
use crate::limits::Limits;
use crate::output::Output;
use crate::runtime::Shared;
use crate::sandbox::{self, Capabilities, State};
use crate::text;

/// Bytes of a kind's name; it becomes a key in tables and a label in metrics.
const KIND_BYTES: usize = 128;

/// Bytes of a kind's payload schema, as text; 256 KiB. What compiles it has a narrower limit; this one bounds what is read.
const SCHEMA_BYTES: usize = 256 << 10;

/// Calls `describe` under an attempt's limits and without any grant, and checks the answer.
pub(crate) async fn describe(
    shared: &Shared,
    pre: &SandboxPre<State>,
    memory_bytes: usize,
    limits: &Limits,
) -> Result<Vec<KindDescription>, LoadError> {
    let control = Arc::new(Control::new());
    let mask = Mask::default();
    // No item has this number.
    let job =
        Job { id: 0, kind: "describe".into(), scope: None, attempt: 0, payload: "null".into(), resume_from: None };
    let output = Output::new(job.id, job.kind.clone(), job.attempt, limits, &control, mask.clone());
    let contexts = Contexts::new(&Granted::default(), &Caller::new(&control, &job), &output, limits);
    let capabilities = Capabilities { contexts, wasi: WasiCtxBuilder::new() };
    // Its time begins when there is a sandbox for it.
    let _turn = shared.turns.acquire().await.expect("the semaphore is never closed");
    let called = tokio::time::timeout(limits.describe_time, async {
        let mut store = sandbox::store(&shared.engine, limits, memory_bytes, capabilities, &control, &output);
        let instance = pre.instance_pre().instantiate_async(&mut store).await.map_err(Call::Broke)?;
        // The types of exports can be checked on an instance only.
        let guest = Sandbox::new(&mut store, &instance).map_err(Call::Mismatch)?;
        guest.workhost_handler_handler().call_describe(&mut store).await.map_err(Call::Broke)
    });
    let reason = match called.await {
        Ok(Ok(kinds)) => return check(kinds, limits.kinds),
        Ok(Err(Call::Mismatch(error))) => return Err(LoadError::TypeMismatch { reason: format!("{error:#}") }),
        Ok(Err(Call::Broke(error))) => match ended::from_error(&error, &output.stderr_tail(), limits, &mask) {
            Broken::Limit(limit) => format!("it hit a limit: {limit}"),
            Broken::Trap(message) => format!("it trapped: {message}"),
        },
        Err(_) => format!("it did not answer within {} s", limits.describe_time.as_secs_f32()),
    };
    Err(LoadError::Describe { reason })
}

/// Why the call of `describe` came to nothing.
enum Call {
    /// The component exports it with another type.
    Mismatch(wasmtime::Error),
    /// The guest broke, while it started or in the call.
    Broke(wasmtime::Error),
}

/// The answer, sorted by kind, if it makes sense.
fn check(described: Vec<handler::KindDescription>, most: usize) -> Result<Vec<KindDescription>, LoadError> {
    let nonsense = |reason| Err(LoadError::Describe { reason });
    if described.is_empty() {
        return nonsense("it names no kind".into());
    }
    if described.len() > most {
        return nonsense(format!("it names {} kinds, the most is {most}", described.len()));
    }
    let mut kinds: Vec<KindDescription> = Vec::new();
    for kind in described {
        let shown = text::harmless_line(&kind.kind, KIND_BYTES);
        if kind.kind.is_empty()
            || kind.kind.len() > KIND_BYTES
            || kind.kind.contains(char::is_whitespace)
            // Nor with what a terminal would obey.
            || shown != kind.kind
        {
            return nonsense(format!(
                "`{shown}` is no kind's name: 1 to {KIND_BYTES} bytes without spaces, such as `send-report`"
            ));
        }
        if kinds.iter().any(|other| other.kind == kind.kind) {
            return Err(LoadError::DescribedTwice { kind: shown });
        }
        if kind.payload_schema.len() > SCHEMA_BYTES {
            let bytes = kind.payload_schema.len();
            return nonsense(format!(
                "the payload schema of kind `{shown}` has {bytes} bytes; the most is {SCHEMA_BYTES}"
            ));
        }
        let payload_schema = match serde_json::from_str(&kind.payload_schema) {
            Ok(schema @ (serde_json::Value::Object(_) | serde_json::Value::Bool(_))) => schema,
            Ok(_) => {
                return nonsense(format!(
                    "the payload schema of kind `{shown}` is no JSON Schema: it must be an object"
                ));
            }
            Err(error) => {
                return nonsense(format!("the payload schema of kind `{shown}` is not JSON: {error}"));
            }
        };
        let summary = text::harmless_line(&kind.summary, 1000);
        kinds.push(KindDescription { kind: kind.kind, summary, payload_schema });
    }
    kinds.sort_by(|a, b| a.kind.cmp(&b.kind));
    Ok(kinds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(kind: &str, schema: &str) -> handler::KindDescription {
        handler::KindDescription { kind: kind.into(), summary: "does it".into(), payload_schema: schema.into() }
    }

    fn refused(kinds: Vec<handler::KindDescription>) -> String {
        check(kinds, 3).unwrap_err().to_string()
    }

    #[test]
    fn kinds_come_sorted_with_their_schema() {
        let kinds = check(vec![kind("b", "true"), kind("a", r#"{"type":"object"}"#)], 3).unwrap();
        assert_eq!(kinds.iter().map(|kind| kind.kind.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(kinds[0].payload_schema["type"], "object");
    }

    #[test]
    fn what_is_just_as_much_as_its_limit_is_taken() {
        let (name, schema) = ("n".repeat(KIND_BYTES), "{}".to_owned() + &" ".repeat(SCHEMA_BYTES - 2));
        let kinds = check(vec![kind("a", "{}"), kind("b", "{}"), kind(&name, &schema)], 3).unwrap();
        assert_eq!((kinds.len(), &kinds[2].kind), (3, &name));
        assert!(refused(vec![kind(&format!("{name}n"), "{}")]).contains("1 to 128 bytes"));
        assert!(refused(vec![kind("a", &format!("{schema} "))]).contains("has 262145 bytes; the most is 262144"));
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        assert_eq!(refused(vec![]), "describe: it names no kind");
        assert_eq!(refused(vec![kind("a", "{}"), kind("a", "{}")]), "the component describes kind `a` twice");
        assert!(refused(vec![kind("a b", "{}")]).contains("`a b` is no kind's name"));
        assert!(refused(vec![kind("", "{}")]).contains("is no kind's name"));
        assert!(refused(vec![kind("a\u{1b}", "{}")]).contains("`a\\u{1b}` is no kind's name"));
        assert!(refused(vec![kind("a", "{")]).contains("of kind `a` is not JSON"));
        assert!(refused(vec![kind("a", "7")]).contains("of kind `a` is no JSON Schema"));
        assert!(
            refused(vec![kind("a", "{}"), kind("b", "{}"), kind("c", "{}"), kind("d", "{}")]).contains("names 4 kinds")
        );
    }
}
