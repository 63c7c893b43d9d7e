//! The real program, real components, both stores.

#![allow(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

mod harness;

mod attempts;
mod cache;
mod capabilities;
mod crash;
mod crawl;
mod faults;
mod handlers;
mod hostile;
mod hosts;
mod http;
mod input;
mod languages;
mod lock;
mod pinned;
mod registry;
mod reload;
mod serving;
mod validate;
mod witness;
