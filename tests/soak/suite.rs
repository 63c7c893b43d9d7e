//! The soak as CI runs it: two minutes, both stores side by side.

#![allow(clippy::unwrap_used, reason = "a test ends at what it did not expect")]
#![allow(clippy::print_stdout, reason = "what a soak came to is shown where it failed")]

mod run;

use std::path::{Path, PathBuf};
use std::time::Duration;

use run::{Plan, Store, View, drawn_seed};

mod every_item_is_accounted_for_whatever_happens {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn sqlite() {
        soak(Store::Sqlite).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        soak(Store::Postgres).await;
    }
}

async fn soak(store: Store) {
    let components = std::env::var("WORKHOST_TEST_COMPONENTS").expect("no components: run `cargo xtask test`");
    let plan = Plan {
        store,
        seed: drawn_seed(),
        total: Duration::from_secs(120),
        folder: Path::new(env!("CARGO_TARGET_TMPDIR")).join("soak").join(store.name()),
        components: PathBuf::from(components),
        program: PathBuf::from(env!("CARGO_BIN_EXE_workhost")),
        server: std::env::var("WORKHOST_TEST_POSTGRES").ok(),
    };
    println!("the same choices again: {}", plan.command());
    let report = run::run(plan, &View::new()).await.unwrap();
    println!("{report}");
    assert!(report.is_clean(), "not all held: see above");
}
