//! The hosts: real `workhost serve` processes on one store.

mod host;
mod wire;

use anyhow::Result;

use super::book::Book;
use super::load::kinds;
use super::plan::{Plan, Store};
pub(super) use host::{Host, Signal, program};
pub(super) use wire::{Passage, Wire};

/// All hosts of a soak.
pub(super) struct Fleet {
    pub(super) hosts: Vec<Host>,
}

/// The host that lives through the whole soak, or through its first half: its memory is judged.
pub(super) const STEADY: &str = "steady";

impl Fleet {
    /// Three hosts on PostgreSQL, each with a wire of its own to the server; one on SQLite.
    pub(super) async fn new(plan: &Plan, store_url: &str) -> Result<Fleet> {
        let names: &[&str] = match plan.store {
            Store::Sqlite => &[STEADY],
            Store::Postgres => &["brisk", "brave", STEADY],
        };
        let mut hosts = Vec::new();
        for name in names {
            let wire = match plan.store {
                Store::Sqlite => None,
                Store::Postgres => Some(Wire::to(store_url).await?),
            };
            let url = wire.as_ref().map_or(store_url, Wire::url);
            std::fs::write(plan.folder.join(format!("{name}.toml")), kinds::configuration(plan, name, url, 0))?;
            hosts.push(Host::new(plan, name, wire));
        }
        // What people type goes straight to the store.
        std::fs::write(plan.folder.join("client.toml"), kinds::configuration(plan, "client", store_url, 0))?;
        Ok(Fleet { hosts })
    }

    /// Starts them all.
    pub(super) async fn start(&self, book: &Book) -> Result<()> {
        for host in &self.hosts {
            host.start(book).await?;
        }
        Ok(())
    }

    /// Sets what passes between every host and the server.
    pub(super) fn pass(&self, passage: Passage) {
        self.hosts.iter().filter_map(|host| host.wire.as_ref()).for_each(|wire| wire.pass(passage));
    }
}
