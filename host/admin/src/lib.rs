//! The HTTP API over the queue's verbs: the only crate that knows axum.
//!
//! It reaches data through [`workhost_queue::Queue`] alone, never by SQL, and knows nothing of the worker
//! but what [`Readiness`] tells.

mod health;
mod readiness;
mod server;

pub use readiness::Readiness;
pub use server::{AdminState, bind, serve};
