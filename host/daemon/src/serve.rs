//! `workhost serve`: everything in one process, from start to shutdown.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::runtime::{Builder, Runtime as Tokio};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::{info, warn};
use workhost_admin::{AdminState, Readiness};
use workhost_queue::{Queue, connect};
use workhost_runtime::{Limits, Runtime};

use crate::config::{self, Config};
use crate::control::ControlSocket;
use crate::registry::Registry;
use crate::reload::Reloader;
use crate::worker::{Stop, StopSwitch, Worker};

/// Sandboxes beside those of attempts: a reload asks new components for their kinds while every slot is taken.
const SPARE: u32 = 4;

/// How long the HTTP side, and then the store, have to close after the worker is done.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// Runs the daemon until a signal ends it.
///
/// # Errors
/// Whatever keeps it from starting: the store, the registry ([`crate::finding::Findings`]), the address.
pub(crate) fn serve(config: &Path) -> anyhow::Result<()> {
    // Guests have a runtime of their own, so that the heartbeats' threads are never busy with them.
    let guests = runtime("guest")?;
    let host = runtime("host")?;
    let result = host.block_on(run(config, &guests));
    // They end with the process. Whatever guest is left was ended, and its thread is not waited for; a task of a driver that is
    // left would break when its runtime goes first.
    std::mem::forget((guests, host));
    result
}

fn runtime(name: &str) -> anyhow::Result<Tokio> {
    Builder::new_multi_thread().thread_name(name).enable_all().build().context("cannot start the threads")
}

async fn run(config: &Path, guests: &Tokio) -> anyhow::Result<()> {
    let stop = stop_on_signals()?;
    // From here on it asks for a reload, and does not end the process.
    let mut hangup = signal(SignalKind::hangup())?;
    let config = config::load(config)?;
    let host = config.worker.host.clone().unwrap_or_else(machine_name);
    let owner = config::owner(&host, rand::random());
    info!(store = %config.store.url, "opening the store; that may wait for another host's migration");
    let open = async {
        let url = config.source.resolve_url(&config.store.url);
        let queue = connect(&url, config.store.options(&config.limits)).await?;
        let serving = queue.serve(&owner).await?;
        let migrated = queue.migrate().await?;
        anyhow::Ok((queue, serving, migrated))
    };
    let mut stopped = stop.clone();
    let (queue, serving, migrated) = tokio::select! {
        opened = open => opened?,
        () = stopped.requested() => return Ok(()),
    };
    info!(host = owner, schema = migrated.version, applied = ?migrated.applied, "the store is ready");
    let limits = config.limits.runtime();
    let limits = Limits { attempts: limits.attempts.max(config.worker.slots + SPARE), ..limits };
    let runtime = Runtime::with_cache(limits, config.compile_cache())?;
    let (registry, warnings) = tokio::select! {
        loaded = Registry::load(&config, &runtime, Some(queue.clone()), &|| ()) => loaded?,
        () = stopped.requested() => return Ok(()),
    };
    for warning in warnings {
        warn!("{warning}");
    }
    let kinds: Vec<&str> = registry.kinds().map(|kind| kind.name.as_str()).collect();
    info!(?kinds, "the registry is valid");
    warn_of_unknown_kinds(&*queue, &registry).await?;

    let readiness = Readiness::default();
    let listener = workhost_admin::bind(config.admin.listen).await?;
    info!(address = %listener.local_addr()?, "listening");
    let admin = AdminState { queue: queue.clone(), readiness: readiness.clone() };
    let (admin_switch, mut admin_stop) = StopSwitch::new();
    let admin = tokio::spawn(workhost_admin::serve(listener, admin, async move { admin_stop.requested().await }));

    let (sender, registry) = watch::channel(Arc::new(registry));
    let reloader = Arc::new(Reloader::new(&config, &runtime, &queue, sender));
    let control = serve_control(&config, &reloader).await;
    let reloads = tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            reloader.clone().reload("SIGHUP").await;
        }
    });

    let worker = Worker {
        queue: queue.clone(),
        registry,
        settings: config.worker.clone(),
        owner,
        guests: guests.handle().clone(),
        readiness,
    };
    worker.run(stop).await;
    reloads.abort();
    drop(control);
    admin_switch.stop();
    // A client that keeps its connection open may not keep the process.
    let _ = timeout(LAST_ANSWERS, admin).await;
    if timeout(LAST_ANSWERS, queue.close()).await.is_err() {
        warn!("the store could not be closed in time; it is whole all the same when it is opened again");
    }
    drop(serving);
    info!("stopped");
    Ok(())
}

/// Answers on the control socket until the answer is dropped. A daemon without one still hears SIGHUP.
async fn serve_control(config: &Config, reloader: &Arc<Reloader>) -> JoinSet<()> {
    let mut control = JoinSet::new();
    let path = config.control_socket();
    match ControlSocket::open(&path).await {
        Ok(socket) => drop(control.spawn(socket.serve(reloader.clone()))),
        Err(error) => {
            warn!(socket = %path.display(), %error, "no control socket: `workhost reload` cannot reach this daemon, SIGHUP can; `[admin] socket` names another place");
        }
    }
    control
}

/// Asks for a clean end at the first SIGTERM or Ctrl-C, and leaves at once at the second.
fn stop_on_signals() -> anyhow::Result<Stop> {
    let (switch, stop) = StopSwitch::new();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        for first in [true, false] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if first {
                info!("stopping; a second signal ends it at once");
                switch.stop();
            } else {
                warn!("ended at once: what was running is recovered when its lease has run out");
                std::process::exit(130);
            }
        }
    });
    Ok(stop)
}

/// Work that no handler of this host runs is left alone; the log says so once, since nobody else may run it either.
async fn warn_of_unknown_kinds(queue: &dyn Queue, registry: &Registry) -> anyhow::Result<()> {
    for count in queue.counts().await? {
        if count.status == workhost_queue::Status::Queued && registry.kind(&count.kind).is_none() {
            warn!(kind = count.kind, queued = count.count, "this host does not run the kind: its items are left alone");
        }
    }
    Ok(())
}

fn machine_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}
