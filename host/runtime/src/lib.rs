//! Components, sandboxes and capabilities: the only crate that knows wasmtime.
//!
//! A [`Runtime`] loads a component file with its [`Grants`] into a [`Handler`]; a handler runs one
//! [`Job`] per call, each in a sandbox of its own, and says how it [`Ended`]. The [`Control`] beside
//! a running job carries the wish to stop in and progress out. Nothing here knows the queue.
//!
//! Compiled code is kept in a [`CompileCache`], if there is one.
//!
//! Three brakes hold a guest, always all three: epochs stop running code, dropping the future of
//! [`Handler::run`] stops code that waits in a host call, and a limiter counts memory over the whole
//! sandbox. What a handler was not granted is not in its linker.

mod attempt;
mod bindings;
mod cache;
mod capability;
mod compile;
mod component;
mod control;
mod describe;
mod digest;
mod ended;
mod engine;
mod error;
mod examined;
mod file;
mod grants;
mod handler;
mod imports;
mod job;
mod limiter;
mod limits;
mod linker;
#[cfg(test)]
mod log_of;
mod output;
mod runtime;
mod sandbox;
mod text;

pub use cache::CompileCache;
pub use capability::GrantForm;
pub use capability::config::ConfigGrant;
pub use capability::dirs::DirGrant;
pub use capability::http::{AllowedOrigin, BadEntry, HttpGrant, Network, Resolve, SystemResolver};
pub use capability::queue::{Enqueued, NewItem, QueueGrant, WorkQueue, WorkQueueError};
pub use capability::retention::RetentionGrant;
pub use capability::secrets::SecretSource;
pub use capability::sql::{Database, DatabaseError, SqlGrant, Writable};
pub use control::{Control, EndedByHost, StopReason};
pub use digest::{ComponentFile, Digest, NoDigest};
pub use ended::Ended;
pub use error::{LoadError, RefusedImport, RuntimeError};
pub use examined::{Examined, Inspection};
pub use grants::{Backends, Grants};
pub use handler::{Handler, KindDescription};
pub use imports::{Import, ImportClass};
pub use job::Job;
pub use limits::Limits;
pub use runtime::Runtime;
pub use text::harmless_line;
