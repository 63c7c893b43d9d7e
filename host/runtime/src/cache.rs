//! Compiled code on disk, so that a component is compiled once per machine and not at each start.
//!
//! What lies there is machine code that the host runs with all its rights. So the folder and its files must be our own
//! and nobody else's to write, and an entry is used only if its tag proves that it was written with this folder's
//! secret, under this name. Whatever is wrong is a miss and a line in the log: the component is compiled as if there
//! were no cache.

mod entry;
mod folder;
mod native;
mod prune;
mod secret;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tracing::{debug, warn};
use wasmtime::Engine;
use wasmtime::component::Component;

pub(crate) use entry::Key;
use folder::Folder;
use secret::Secret;

use crate::text;

/// Bytes of a reason in the log. It may repeat what a file holds.
const PROBLEM_BYTES: usize = 1000;

/// Where compiled code is kept. Several processes may use one folder at the same time.
#[derive(Debug)]
pub struct CompileCache {
    path: PathBuf,
    /// Bytes of the code of one component; 256 MiB. A larger one is compiled at each start.
    entry_bytes: u64,
    /// Bytes of all entries; 1 GiB. What was not used for longest goes first.
    total_bytes: u64,
    /// The last reason not to use the folder, so that it is told once and not for each handler.
    told: Mutex<Option<String>>,
}

/// Why a cache cannot be used, and what to do about it.
#[derive(Debug)]
struct Unusable {
    problem: String,
    mend: &'static str,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (hint: {})", self.problem, self.mend)
    }
}

impl CompileCache {
    /// A cache in this folder, which is made where it is missing. Nothing is touched before the first component.
    pub fn new(path: impl Into<PathBuf>) -> CompileCache {
        CompileCache { path: path.into(), entry_bytes: 256 << 20, total_bytes: 1 << 30, told: Mutex::default() }
    }

    /// The compiled component of this key, if it is there and authentic. Blocks.
    pub(crate) fn find(&self, engine: &Engine, key: &Key) -> Option<Component> {
        let (folder, secret) = self.open()?;
        let found = folder.read(key.name(), entry::HEAD_BYTES as u64 + self.entry_bytes);
        let file = match found {
            Ok(found) => found?,
            Err(problem) => return self.miss(key, &problem),
        };
        let Some(code) = entry::verify(&secret, key, &file.bytes) else {
            return self.miss(key, "it is damaged, or was not written with this folder's secret");
        };
        match native::load(engine, &code) {
            Ok(component) => {
                file.mark_used();
                Some(component)
            }
            Err(error) => self.miss(key, &format!("the engine refuses it: {error:#}")),
        }
    }

    /// Keeps a compiled component for the next start, as well as it can. Blocks.
    pub(crate) fn keep(&self, key: &Key, component: &Component) {
        let Some((folder, secret)) = self.open() else { return };
        let kept = component.serialize().map_err(|error| format!("{error:#}")).and_then(|code| {
            if code.len() as u64 > self.entry_bytes {
                debug!(entry = key.name(), bytes = code.len(), "too large for the cache of compiled code");
                return Ok(());
            }
            let head = entry::seal(&secret, key, &code);
            folder.write(key.name(), &[&head, &code]).map_err(|error| error.to_string())?;
            prune::prune(&folder, self.total_bytes).map_err(|error| format!("old entries stay: {error}"))
        });
        if let Err(problem) = kept {
            self.warn_once(&format!(
                "compiled code cannot be written to {}: {problem}; the next start compiles again",
                self.path.display()
            ));
        }
    }

    /// The folder and its secret, both looked at anew: either may have changed since the last time.
    fn open(&self) -> Option<(Folder, Secret)> {
        let opened = Folder::open(&self.path).and_then(|folder| {
            let secret = Secret::of(&folder)?;
            Ok((folder, secret))
        });
        opened.map_err(|unusable| self.warn_once(&format!("compiled code is not cached: {unusable}"))).ok()
    }

    fn miss<T>(&self, key: &Key, problem: &str) -> Option<T> {
        let folder = self.path.display().to_string();
        warn!(
            folder,
            entry = key.name(),
            "compiled code from the cache is not used: {}",
            text::harmless_line(problem, PROBLEM_BYTES)
        );
        None
    }

    fn warn_once(&self, problem: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.as_deref() != Some(problem) {
            warn!("{}", text::harmless_line(problem, PROBLEM_BYTES));
            *told = Some(problem.to_owned());
        }
    }
}
