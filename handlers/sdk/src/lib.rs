//! Write a workhost handler on one page.
//!
//! A handler is a WebAssembly component that runs one or more work kinds. With this crate it is a type
//! per kind, which is also the kind's payload, and one line that exports them:
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers, sql};
//!
//! /// The payload. Its schema is checked before the handler starts, so refuse what you do not know.
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct CloseStaleCarts {
//!     /// Carts that nobody touched for this many days are closed.
//!     days: u32,
//! }
//!
//! #[derive(Serialize)]
//! struct Closed {
//!     closed: u64,
//! }
//!
//! impl Handler for CloseStaleCarts {
//!     const KIND: &'static str = "close-stale-carts";
//!     const SUMMARY: &'static str = "Closes carts that nobody touched for some days.";
//!     type Summary = Closed;
//!
//!     fn run(self, work: &Work) -> Result<Ending<Closed>, Failure> {
//!         let mut closed = 0;
//!         while work.stop_requested().is_none() {
//!             // The statement's text stands in workhost's configuration, under this name.
//!             match sql::execute("close-some-carts", &[self.days.into()])? {
//!                 0 => return Ok(Ending::Done(Closed { closed })),
//!                 some => closed += some,
//!             }
//!             work.report_progress(&closed);
//!         }
//!         Ok(Ending::Stopped(Closed { closed }))
//!     }
//! }
//!
//! export_handlers!(CloseStaleCarts);
//! # fn main() {}
//! ```
//!
//! A payload without fields is `struct Nothing {}`, with braces: it takes the empty object `{}`.
//!
//! A component asks only for the capabilities whose functions it calls: one that never names [`sql`]
//! needs no grant for it. Outside of WebAssembly there is no host, and `testing` stands in for it.

#[doc(hidden)]
pub mod bindings;
pub mod config;
mod ending;
mod export;
mod failure;
mod handler;
mod host;
#[cfg(feature = "http")]
pub mod http;
pub mod log;
mod progress;
pub mod queue;
pub mod retention;
pub mod secrets;
pub mod sql;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
mod timestamp;
mod work;

pub use bindings::workhost::handler::types::StopReason;
pub use ending::Ending;
pub use failure::Failure;
pub use handler::Handler;
pub use timestamp::Timestamp;
pub use work::Work;

/// What [`export_handlers!`] needs in the crate that calls it. Not for people.
#[doc(hidden)]
pub mod __export {
    pub use crate::bindings::exports::workhost::handler::handler::{Ending, Failure, Guest, KindDescription, WorkItem};
    pub use crate::export::{describe, run, unknown_kind};
}
