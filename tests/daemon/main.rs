//! The real program, real components, both stores.

mod harness;

mod attempts;
mod crash;
mod crawl;
mod handlers;
mod input;
mod registry;
mod serving;
