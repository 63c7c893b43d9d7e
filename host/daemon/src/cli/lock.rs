//! `workhost lock`.

use std::path::Path;
use std::process::ExitCode;

use workhost_runtime::{Limits, Runtime, harmless_line};

use super::{output, progress};
use crate::config::Config;
use crate::finding::{Findings, Severity};
use crate::lock::{self, Lock, LockFile, NoLock};
use crate::registry::{Examination, Registry};

/// Bytes of a line; 2 KiB, as of a finding.
const LINE_BYTES: usize = 2 << 10;

#[derive(clap::Args)]
#[command(after_help = "\
The lock lies beside the configuration: workhost.lock beside workhost.toml. It is there to be committed, so that a change of
a component shows in a review. No database is needed, and no store.

Examples:
  workhost lock                       # after a component was built anew
  workhost validate --locked          # in CI: is the lock still true?

Exit status: 0 the lock is true, 1 the registry has findings or the lock cannot be written; then nothing was written.")]
pub(super) struct Args {}

pub(super) async fn run(config: &Config, Args {}: Args) -> anyhow::Result<ExitCode> {
    let runtime = Runtime::with_cache(Limits::default(), config.compile_cache())?;
    let bar = progress::components(config.handlers.len());
    let Examination { handlers, findings, .. } = Registry::examine(config, &runtime, &|| bar.inc(1)).await;
    bar.finish_and_clear();
    // Warnings are for `validate`: a lock of a registry that works is no worse for them.
    let wrong: Vec<_> = findings.into_iter().filter(|finding| finding.severity != Severity::Warning).collect();
    if !wrong.is_empty() {
        return Err(Findings(wrong).into());
    }
    let path = lock::path(&config.source.file);
    let new = Lock::of(config, &handlers);
    let changes: Vec<String> = match LockFile::read(&path) {
        Ok(old) => lock::differences(&old.lock, &new).iter().map(|one| one.change.to_string()).collect(),
        Err(NoLock::Missing(_)) => Vec::new(),
        Err(NoLock::Unusable(finding)) => vec![format!("the lock before cannot be compared: {}", finding.problem)],
    };
    let written = lock::write(&path, &new).map_err(|finding| Findings(vec![*finding]))?;
    for change in changes {
        output::line(harmless_line(&change, LINE_BYTES))?;
    }
    output::line(summary(&path, &new, written))?;
    Ok(ExitCode::SUCCESS)
}

fn summary(path: &Path, lock: &Lock, written: bool) -> String {
    let plural = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    let kinds: usize = lock.handlers.values().map(|handler| handler.kinds.len()).sum();
    let holds = format!("{} with {}", plural(lock.handlers.len(), "handler"), plural(kinds, "kind"));
    let path = path.display();
    if written { format!("wrote {path}: {holds}") } else { format!("{path} is up to date: {holds}") }
}
