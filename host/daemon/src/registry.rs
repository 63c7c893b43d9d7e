//! The registry: the catalogue of kinds × the loaded handlers, checked to match exactly.

mod check;
mod grants;
mod kind;
mod rule;
mod schema;
mod stranded;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::join_all;
use workhost_queue::{Periodic, Queue};
use workhost_runtime::{Backends, ComponentFile, KindDescription, LoadError, Runtime};

use crate::config::{Config, HandlerSettings};
use crate::finding::{Finding, Findings, Severity};
use crate::handlers_queue::HandlersQueue;

pub use check::Described;
pub use kind::{Kind, Run};
pub use rule::{ItemRule, ItemRules};
pub use schema::PayloadSchema;
pub use stranded::stranded;

/// The payload types by kind.
pub type PayloadSchemas = BTreeMap<String, PayloadSchema>;

/// Every declared kind with the one handler that runs it.
pub struct Registry {
    handlers: Vec<Described>,
    kinds: BTreeMap<String, Arc<Kind>>,
    periodics: Vec<Periodic>,
}

/// A registry as far as it can be known without databases.
pub struct Examination {
    /// The components that could be examined.
    pub handlers: Vec<Described>,
    /// Their kinds' payload types.
    pub schemas: PayloadSchemas,
    /// What is wrong, and what to warn of.
    pub findings: Vec<Finding>,
}

impl Registry {
    /// Loads every component and checks the whole. Answers the registry, and what it has to warn of. Calls `loaded` after
    /// each component. What handlers do to the queue is done to `queue`; without one they could do nothing.
    ///
    /// # Errors
    /// Everything that is wrong, at once, warnings too.
    pub async fn load(
        config: &Config,
        runtime: &Runtime,
        queue: Option<Arc<dyn Queue>>,
        loaded: &(dyn Fn() + Sync),
    ) -> Result<(Registry, Vec<Finding>), Findings> {
        let (databases, findings) = grants::connect_databases(config).await;
        let handlers_queue = queue.map(|queue| Arc::new(HandlersQueue::new(queue)));
        let mut backends = Backends { databases: databases.clone(), ..Backends::default() };
        if let Some(queue) = &handlers_queue {
            backends.queue = queue.clone();
        }
        // Without its database a handler would only be told wrong things of its grants.
        let complete =
            |settings: &HandlerSettings| settings.sql.values().all(|grant| databases.contains_key(&grant.database));
        let load = async |component: PathBuf, settings: &HandlerSettings| {
            let grants = grants::grants(settings, config);
            let handler = runtime.load(file(&component, settings), grants, &backends).await;
            loaded();
            handler
        };
        let (handlers, failed) = each(config, &complete, load).await;
        let described: Vec<Described> = handlers
            .iter()
            .map(|(index, component, handler)| Described {
                index: *index,
                component: component.clone(),
                examined: handler.examined().clone(),
            })
            .collect();
        // The others are checked as far as they go without.
        let (rest, failed_too) = examine(config, runtime, |settings| !complete(settings), loaded).await;
        let described: Vec<Described> = described.into_iter().chain(rest).collect();
        let (mut schemas, found) = check::join(config, &described);
        let findings = [findings, failed, failed_too, found].concat();
        if findings.iter().any(|finding| finding.severity != Severity::Warning) {
            return Err(Findings(findings));
        }
        let mut kinds = BTreeMap::new();
        for (_, _, handler) in handlers {
            for KindDescription { kind: name, .. } in &handler.examined().kinds {
                let (Some(settings), Some(schema)) = (config.kinds.get(name), schemas.remove(name)) else { continue };
                let rule = ItemRule { scope: settings.scope, schema };
                kinds.insert(name.clone(), Arc::new(Kind::new(name, settings, rule, &handler)));
            }
        }
        if let Some(queue) = &handlers_queue {
            queue.keep_to(kinds.iter().map(|(name, kind)| (name.clone(), kind.rule.clone())).collect());
        }
        Ok((Registry::of(described, kinds), findings))
    }

    /// A registry of these kinds.
    pub(crate) fn of(handlers: Vec<Described>, kinds: BTreeMap<String, Arc<Kind>>) -> Registry {
        let periodics = kinds.values().flat_map(|kind| kind.periodics()).collect();
        Registry { handlers, kinds, periodics }
    }

    /// Checks the whole as far as it can be done without databases. Calls `loaded` after each component.
    pub async fn examine(config: &Config, runtime: &Runtime, loaded: &(dyn Fn() + Sync)) -> Examination {
        let (handlers, failed) = examine(config, runtime, |_| true, loaded).await;
        let (schemas, found) = check::join(config, &handlers);
        Examination { handlers, schemas, findings: [failed, found].concat() }
    }

    /// What is known of the components, in the configuration's order.
    pub fn handlers(&self) -> &[Described] {
        &self.handlers
    }

    /// The kind of this name.
    pub fn kind(&self, name: &str) -> Option<&Arc<Kind>> {
        self.kinds.get(name)
    }

    /// All kinds, by name.
    pub fn kinds(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.values()
    }

    /// The schedules of all periodic kinds; one for each listed scope where a kind requires one.
    pub fn periodics(&self) -> &[Periodic] {
        &self.periodics
    }
}

/// Checks those of the components as far as it can be done without databases.
async fn examine(
    config: &Config,
    runtime: &Runtime,
    those: impl Fn(&HandlerSettings) -> bool,
    loaded: &(dyn Fn() + Sync),
) -> (Vec<Described>, Vec<Finding>) {
    let examine = async |component: PathBuf, settings: &HandlerSettings| {
        let examined = runtime.examine(file(&component, settings), &grants::grants(settings, config)).await;
        loaded();
        examined
    };
    let (examined, failed) = each(config, those, examine).await;
    let described = examined.into_iter().map(|(index, component, examined)| Described { index, component, examined });
    (described.collect(), failed)
}

/// Does the same with each component for which there is all it needs, side by side.
async fn each<T>(
    config: &Config,
    complete: impl Fn(&HandlerSettings) -> bool,
    with: impl AsyncFn(PathBuf, &HandlerSettings) -> Result<T, LoadError>,
) -> (Vec<(usize, PathBuf, T)>, Vec<Finding>) {
    let handlers = config.handlers.iter().enumerate().filter(|(_, settings)| complete(settings));
    let results = handlers.map(|(index, settings)| {
        let component = config.source.resolve(&settings.component);
        let result = with(component.clone(), settings);
        async move { (index, component, result.await) }
    });
    let (mut done, mut findings) = (Vec::new(), Vec::new());
    for (index, component, result) in join_all(results).await {
        match result {
            Ok(one) => done.push((index, component, one)),
            Err(error) => findings.extend(error.each().iter().map(|error| load_finding(config, index, error))),
        }
    }
    (done, findings)
}

/// The component's file, as far as it is the one that was pinned.
fn file<'f>(component: &'f Path, settings: &HandlerSettings) -> ComponentFile<'f> {
    ComponentFile { path: component, digest: settings.digest }
}

fn load_finding(config: &Config, index: usize, error: &LoadError) -> Finding {
    let index = index.to_string();
    let keys: &[&str] = match error {
        LoadError::Statement { name, .. } | LoadError::DatabaseUnavailable { name, .. } => &["sql", name],
        LoadError::OtherDigest { .. } => &["digest"],
        LoadError::Secret { name, .. } => &["secrets", name],
        LoadError::Folder { .. } => &["dirs"],
        LoadError::Memory { .. } => &["memory"],
        _ => &["component"],
    };
    let keys = [&["handlers", &index], keys].concat();
    let finding = config.source.finding(error.code(), &keys, error.to_string(), error.hint());
    match error {
        LoadError::DatabaseUnavailable { .. } | LoadError::Unreadable { .. } | LoadError::Secret { .. } => {
            finding.with(Severity::Unchecked)
        }
        _ => finding,
    }
}

fn component_finding(
    config: &Config,
    index: usize,
    code: &'static str,
    problem: String,
    mend: Option<String>,
) -> Finding {
    config.source.finding(code, &["handlers", &index.to_string(), "component"], problem, mend)
}
