//! Taking in a new registry, whole, while the daemon runs.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, watch};
use tracing::{info, warn};
use workhost_queue::{Deed, Queue};
use workhost_runtime::Runtime;

use crate::config::{self, Config};
use crate::finding::{Finding, Findings, Severity};
use crate::registry::Registry;

/// Puts the registry of the configuration file in the place of the one that is used.
pub(crate) struct Reloader {
    pub(crate) file: PathBuf,
    /// The configuration that the daemon was started with.
    pub(crate) started: Config,
    pub(crate) runtime: Runtime,
    pub(crate) queue: Arc<dyn Queue>,
    pub(crate) registry: watch::Sender<Arc<Registry>>,
    /// One reload at a time.
    turn: Mutex<()>,
}

/// What a reload came to.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Reloaded {
    /// Whether the new registry is used now. If not, the old one still is.
    pub(crate) valid: bool,
    /// The kinds of the registry that is used now.
    pub(crate) kinds: Vec<String>,
    /// What is wrong with the new one, and what there is to warn of, in words.
    pub(crate) findings: Vec<String>,
}

impl Reloader {
    pub(crate) fn new(
        started: &Config,
        runtime: &Runtime,
        queue: &Arc<dyn Queue>,
        registry: watch::Sender<Arc<Registry>>,
    ) -> Reloader {
        Reloader {
            file: started.source.file.clone(),
            started: started.clone(),
            runtime: runtime.clone(),
            queue: queue.clone(),
            registry,
            turn: Mutex::default(),
        }
    }

    /// Reads the configuration anew and, if its registry is valid, uses that from now on. Attempts that run end on the
    /// component that they began with. `actor` is who asked.
    pub(crate) async fn reload(self: Arc<Self>, actor: &'static str) -> Reloaded {
        let host = Handle::current();
        // On a thread of its own: components are many, and what loads them may not move between threads.
        let reloading = tokio::task::spawn_blocking(move || host.block_on(self.reload_here(actor)));
        reloading.await.unwrap_or_else(|error| {
            let findings = vec![format!("the reload itself failed: {error}")];
            Reloaded { valid: false, kinds: Vec::new(), findings }
        })
    }

    async fn reload_here(&self, actor: &str) -> Reloaded {
        let _turn = self.turn.lock().await;
        let outcome = match config::load(&self.file) {
            Ok(config) => {
                let loaded = Registry::load(&config, &self.runtime, Some(self.queue.clone()), &|| ()).await;
                loaded.map(|(registry, warnings)| (registry, [self.needs_restart(&config), warnings].concat()))
            }
            Err(findings) => Err(findings),
        };
        let (valid, findings) = match outcome {
            Ok((registry, warnings)) => {
                let before = self.registry.send_replace(Arc::new(registry));
                self.tell(&before, actor).await;
                (true, warnings)
            }
            Err(Findings(findings)) => {
                warn!(actor, findings = findings.len(), "the new registry is not valid: the old one stays");
                (false, findings)
            }
        };
        for finding in &findings {
            warn!("{finding}");
        }
        let kinds = self.registry.borrow().kinds().map(|kind| kind.name.clone()).collect();
        Reloaded { valid, kinds, findings: findings.iter().map(ToString::to_string).collect() }
    }

    /// Logs and records what changed.
    async fn tell(&self, before: &Registry, actor: &str) {
        let now = self.registry.borrow().clone();
        let added: Vec<&str> = names(&now).filter(|name| before.kind(name).is_none()).collect();
        let gone: Vec<&str> = names(before).filter(|name| now.kind(name).is_none()).collect();
        let digest = |registry: &Registry, name: &str| registry.kind(name).map(|kind| kind.digest.clone());
        let rebuilt: Vec<&str> = names(&now)
            .filter(|name| before.kind(name).is_some() && digest(before, name) != digest(&now, name))
            .collect();
        info!(actor, ?added, ?gone, ?rebuilt, "the registry was reloaded");
        let deed = Deed { actor: Some(actor.into()), action: "reload".into(), target: "registry".into(), item: None };
        if let Err(error) = self.queue.audit(&deed).await {
            warn!(%error, "the reload could not be recorded");
        }
    }

    /// What differs from the start in settings that are only read there.
    fn needs_restart(&self, config: &Config) -> Vec<Finding> {
        let Config { store, worker, limits, runtime, admin, .. } = &self.started;
        let changed = [
            ("store", *store != config.store),
            ("worker", *worker != config.worker),
            ("limits", *limits != config.limits),
            ("runtime", *runtime != config.runtime),
            ("admin", *admin != config.admin),
        ];
        let finding = |name: &str| {
            let problem = "changed, and is read only when the daemon starts: what it said then still holds".to_owned();
            let mend = "restart the daemon for it".to_owned();
            config.source.finding("setting-needs-restart", &[name], problem, Some(mend)).with(Severity::Warning)
        };
        changed.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| finding(name)).collect()
    }
}

fn names(registry: &Registry) -> impl Iterator<Item = &str> {
    registry.kinds().map(|kind| kind.name.as_str())
}
