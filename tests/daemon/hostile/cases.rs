//! Which guest ends how.

use std::time::Duration;

use workhost_queue::{Status, WorkItem};

use crate::harness::*;

/// One hostile guest, by the name of its kind, and what becomes of its item.
pub(super) struct Case {
    pub(super) kind: &'static str,
    source: Source,
    /// The timeout of its kind.
    seconds: u64,
    /// Keys of its handler in the configuration.
    grants: &'static str,
    /// The error's words: the whole of it if this is one, otherwise its beginning and what it says further on.
    error: &'static [&'static str],
}

enum Source {
    /// `tests/guests/KIND.rs`.
    Rust,
    /// `tests/guests/text/KIND.wat`.
    Text,
}

/// For a guest that ends by itself; more than that takes on the slowest machine.
const PLENTY: u64 = 30;
/// Two gigabytes, so that a guest can offer one.
const LARGE: &str = "memory = \"2GiB\"";
/// How long after its timeout a guest may still be there. Its code ends within an epoch of 10 ms and no host call takes
/// long; the rest is for a machine that has other things to do.
const LATE: Duration = Duration::from_secs(3);
const FOLDER: &str = "dirs = [{ guest = \"/files\", path = \"files\" }]";

const fn rust(kind: &'static str, seconds: u64, error: &'static [&'static str]) -> Case {
    Case { kind, source: Source::Rust, seconds, grants: "", error }
}

const fn text(kind: &'static str, seconds: u64, grants: &'static str, error: &'static [&'static str]) -> Case {
    Case { kind, source: Source::Text, seconds, grants, error }
}

pub(super) const CASES: &[Case] = &[
    rust("spin", 1, &["timeout of 1s"]),
    text("spin-in-start", 1, FOLDER, &["timeout of 1s"]),
    text("spin-in-realloc", 1, "", &["timeout of 1s"]),
    text("spin-in-post-return", 1, "", &["timeout of 1s"]),
    text("spin-in-destructor", 1, "", &["timeout of 1s"]),
    rust("sleep", 1, &["timeout of 1s"]),
    rust("greedy", PLENTY, &["memory limit of 64 MiB"]),
    text("many-memories", PLENTY, "", &["memory limit of 64 MiB"]),
    text("table", PLENTY, "", &["limit of 200000 table elements"]),
    text("long-result", PLENTY, LARGE, &["value larger than 16 MiB passed to the host"]),
    text("long-progress", PLENTY, LARGE, &["value larger than 16 MiB passed to the host"]),
    text("long-error", PLENTY, LARGE, &["value larger than 16 MiB passed to the host"]),
    text("wordy-error", PLENTY, "", &["\\u{1}\\u{1}", "bytes more)"]),
    text("log-fields", PLENTY, "", &["value larger than 16 MiB passed to the host"]),
    rust("log-flood", 1, &["timeout of 1s"]),
    text("wordy-log", 1, "", &["timeout of 1s"]),
    rust("print-flood", PLENTY, &["write larger than 16 KiB"]),
    rust("deep", PLENTY, &["stack overflow"]),
    rust(
        "double-panic",
        PLENTY,
        &[
            "panicked at tests/guests/double_panic.rs:",
            "\nno words for it\nthread panicked while processing panic. aborting.\n",
        ],
    ),
    text(
        "long-name",
        1,
        "",
        &["wasm trap: wasm `unreachable` instruction executed\nbacktrace:\n", "!f(a, b<a, a>, b<b<a, a>, b<a, a> >"],
    ),
    rust("resources", PLENTY, &["limit of 10000 open files, streams and other host resources"]),
    text("own-resources", PLENTY, "", &["limit of 20000 handles of resources"]),
    rust("random", PLENTY, &["limit of 1 MiB random bytes at a time"]),
    rust("exit", PLENTY, &["the handler called exit(0); a handler returns its outcome"]),
];

impl Case {
    /// Its kind and handler in the configuration; one in text format is assembled for that.
    pub(super) fn configure(&self, w: &Workshop) -> String {
        let Case { kind, seconds, grants, .. } = self;
        let component = match self.source {
            Source::Rust => component(&format!("guests/{kind}")),
            Source::Text => w.write(&format!("guests/{kind}.wasm"), text::assemble(kind)).display().to_string(),
        };
        format!("[kinds.{kind}]\ntimeout = \"{seconds}s\"\n[[handlers]]\ncomponent = {component:?}\n{grants}\n")
    }

    /// The item failed with these words, in time.
    pub(super) fn check(&self, item: &WorkItem) {
        let kind = self.kind;
        assert_eq!((item.status, item.stalls), (Status::Failed, 0), "{kind}: {item:#?}");
        let error = item.error.as_deref().unwrap_or_default();
        let fits = match self.error {
            [whole] => error == *whole,
            [begins, more @ ..] => error.starts_with(begins) && more.iter().all(|words| error.contains(words)),
            [] => false,
        };
        assert!(fits, "{kind}: not {:?}: {error}", self.error);
        let took = (item.finished_at.unwrap() - item.started_at.unwrap()).unsigned_abs();
        assert!(took < Duration::from_secs(self.seconds) + LATE, "{kind}: it ran for {took:?}");
    }
}
