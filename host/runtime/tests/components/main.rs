//! The runtime through its own door: files in, outcomes out.
#![allow(missing_docs, unreachable_pub, reason = "a test")]

mod guest;
mod loading;
mod running;
