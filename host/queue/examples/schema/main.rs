//! Shows the schema that a store really has: migrates an empty store as the program does, and reads it back.
//!
//! `cargo xtask schema` runs it once for each store and makes `docs/schema.sql` of what it prints. The URL of the
//! store comes by the environment, since it may hold a password.

#![allow(clippy::print_stdout, reason = "what it prints is its result")]

mod layout;
mod postgres;
mod sqlite;

use std::error::Error;

use workhost_queue::{ConnectOptions, connect};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::var("WORKHOST_SCHEMA_STORE").map_err(|_| "WORKHOST_SCHEMA_STORE names no store")?;
    let queue = connect(&url, ConnectOptions::default()).await?;
    let migrated = queue.migrate().await?;
    if migrated.applied.is_empty() {
        return Err("the store was not empty: what somebody did to it would be shown as its schema".into());
    }
    let objects = match url.strip_prefix("sqlite://") {
        Some(path) => sqlite::objects(path).await?,
        None => postgres::objects(&url).await?,
    };
    println!("{}", objects.join("\n\n"));
    Ok(())
}
