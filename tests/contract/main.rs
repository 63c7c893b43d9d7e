//! The contract of the queue: each behaviour stated once, and shown on every store.
//!
//! `cargo xtask test` runs it. By hand: `WORKHOST_TEST_POSTGRES=postgres://postgres@localhost/postgres
//! cargo test --test contract`, with a private server on which each test makes a database of its own.

#![allow(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

mod attempts;
mod audit;
mod cancel;
mod changes;
mod children;
mod claim;
mod claimed;
mod cron;
mod due_race;
mod enqueue;
mod fence;
mod finish;
mod heartbeat;
mod hosts;
mod migrate;
mod migrators;
mod model;
mod pause;
mod pgbouncer;
mod place;
mod pooler;
mod read;
mod recover;
mod replicated;
mod retention;
mod rolling;
mod schedule;
mod scope;
mod scope_races;
mod serve;
mod sql_function;
mod sql_limits;
mod store;
mod superseded;
mod text;
mod tokens;
mod trouble;
mod wake;
