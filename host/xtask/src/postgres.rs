//! A PostgreSQL of the tests' own: programs found or fetched, a server that lives as long as the run.

mod account;
mod debian;
mod leftover;
pub(crate) mod pgbouncer;
mod programs;
mod server;

pub(crate) use programs::Programs;
pub(crate) use server::{Purpose, Server};
