//! The daemon: joins the queue, the runtime and the admin API.
//!
//! [`cli::main`] is the program. `serve` reads the [`config`], proves the [`registry`] and runs the
//! [`worker`] beside the HTTP side.

pub mod cli;
pub mod config;
pub mod finding;
pub mod registry;
mod retention;
mod serve;
pub mod worker;
