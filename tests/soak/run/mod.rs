//! One soak of one store: hosts at work, clients, all sorts of trouble, and at the end a judgement.
//!
//! `fleet` has the hosts, `load` what clients do, `chaos` what is done to them, `notes` what of all that is remembered,
//! `onlooker` sees the store from beside, and `oracle` judges. The choices come from the seed; what happens when does not.

mod book;
mod chaos;
mod clock;
mod database;
mod diary;
mod drain;
mod fleet;
mod footprint;
mod load;
mod onlooker;
mod oracle;
mod plan;
mod progress;
mod report;

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use tokio::task::JoinSet;
use workhost_queue::{ConnectOptions, Queue, connect};

use book::Book;
use clock::Clock;
use fleet::Fleet;

pub(crate) use plan::{Plan, Store, drawn_seed};
pub(crate) use progress::View;
pub(crate) use report::Report;

/// What all parts of a soak share.
pub(crate) struct Scene {
    plan: Plan,
    clock: Clock,
    book: Book,
    fleet: Fleet,
    /// The store as clients see it: no trouble of the hosts' own connections touches it.
    queue: Arc<dyn Queue>,
    /// The same, by its URL.
    store_url: String,
}

/// Runs a soak to its end.
///
/// # Errors
/// When it could not be set up. Whatever the hosts do wrong is in the report.
pub(crate) async fn run(plan: Plan, view: &View) -> Result<Report> {
    let begun = Instant::now();
    plan.make_folder()?;
    let store_url = database::create(&plan).await?;
    let queue = connect(&store_url, ConnectOptions { max_connections: 4, ..ConnectOptions::default() }).await?;
    queue.migrate().await?;
    let fleet = Fleet::new(&plan, &store_url).await?;
    let clock = Clock::start(begun, &plan);
    let scene = Arc::new(Scene { plan, clock, book: Book::default(), fleet, queue, store_url });
    let ended = stages(&scene, view).await;
    view.leave();
    if let Err(error) = &ended {
        scene.book.amiss("a soak comes to its end", None, format!("{error:#}"));
    }
    Report::new(&scene, ended.ok(), begun.elapsed())
}

async fn stages(scene: &Arc<Scene>, view: &View) -> Result<Vec<oracle::Kept>> {
    let mut beside = JoinSet::new();
    beside.spawn(clock::watch_for_standstills(scene.clone()));
    beside.spawn(onlooker::follow(scene.clone()));
    beside.spawn(footprint::measure(scene.clone()));
    beside.spawn(progress::tell(scene.clone(), view.of(scene.plan.store)));
    scene.fleet.start(&scene.book).await.context("the hosts do not start")?;
    scene.clock.load_begins();
    let mut at_work = JoinSet::new();
    load::start(scene, &mut at_work);
    chaos::start(scene, &mut at_work);
    while let Some(ended) = at_work.join_next().await {
        if let Err(error) = ended? {
            scene.book.amiss("a soak comes to its end", None, format!("{error:#}"));
            scene.clock.end_load();
        }
    }
    drain::drain(scene).await?;
    let kept = oracle::read(&*scene.queue).await?;
    drain::stop_hosts(scene).await;
    beside.abort_all();
    Ok(kept)
}
