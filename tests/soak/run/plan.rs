//! What is to be done: for how long, on which store, by which seed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rand::SeedableRng as _;
use rand::rngs::StdRng;

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Store {
    /// One host: a file has one serving process.
    Sqlite,
    /// Three hosts.
    Postgres,
}

impl Store {
    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Store::Sqlite => "sqlite",
            Store::Postgres => "postgres",
        }
    }
}

/// All that decides what a soak does.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) store: Store,
    pub(crate) seed: u64,
    /// From the first to the last moment; what is left in the queue when the load ends is worked off within it.
    pub(crate) total: Duration,
    /// Configurations, logs, the diary and a SQLite store; made anew.
    pub(crate) folder: PathBuf,
    /// Where the built components lie.
    pub(crate) components: PathBuf,
    /// The built program.
    pub(crate) program: PathBuf,
    /// A PostgreSQL server, for a store on it.
    pub(crate) server: Option<String>,
}

/// How long a claim lasts. Half of it is what a busy machine may be late by before an attempt stops itself.
pub(crate) const LEASE: Duration = Duration::from_secs(4);
/// How long handlers may go on after a shutdown began.
pub(crate) const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);
/// How many attempts may stall before the item fails.
pub(crate) const MAX_STALLS: u32 = 3;

impl Plan {
    /// How long there is load and trouble: all but what it takes to work off the rest.
    pub(crate) fn load(&self) -> Duration {
        let rest = (self.total / 5).clamp(Duration::from_secs(15), Duration::from_secs(60));
        self.total.saturating_sub(rest)
    }

    /// Where compiled components are kept, for all hosts and from run to run.
    pub(crate) fn cache(&self) -> PathBuf {
        self.folder.with_file_name("compiled")
    }

    /// The choices of one part of the soak, the same for the same seed.
    pub(crate) fn choices(&self, whose: &str) -> StdRng {
        let mut hasher = DefaultHasher::new();
        (self.seed, self.store, whose).hash(&mut hasher);
        StdRng::seed_from_u64(hasher.finish())
    }

    /// How to run it again.
    pub(crate) fn command(&self) -> String {
        let (store, seed, seconds) = (self.store.name(), self.seed, self.total.as_secs());
        format!("cargo xtask soak --store {store} --seed {seed} --for {seconds}s")
    }

    pub(crate) fn make_folder(&self) -> Result<()> {
        let folder = &self.folder;
        if folder.exists() {
            std::fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        std::fs::create_dir_all(folder.join("diary")).with_context(|| format!("cannot make {}", folder.display()))
    }
}

/// A seed for who names none; short enough to be typed.
pub(crate) fn drawn_seed() -> u64 {
    u64::from(rand::random::<u32>())
}
