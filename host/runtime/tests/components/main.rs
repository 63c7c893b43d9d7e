//! The runtime through its own door: files in, outcomes out.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, reason = "a test")]

mod contract;
mod file;
mod golden;
mod grants;
mod guest;
mod limits;
mod pinned;
mod running;
