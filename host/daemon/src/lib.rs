//! The daemon: joins the queue, the runtime and the admin API.
//!
//! [`cli::main`] is the program. `serve` reads the [`config`], proves the [`registry`] and runs the
//! [`worker`] beside the HTTP side. The [`lock`] tells whether a registry is the one that was reviewed.

pub mod cli;
pub mod config;
mod control;
pub mod fault;
pub mod finding;
mod handlers_queue;
pub mod lock;
pub mod registry;
mod reload;
mod serve;
pub mod worker;
