//! The registry: the catalogue of kinds × the loaded handlers, checked to match exactly.

mod check;
mod grants;
mod schema;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::join_all;
use workhost_queue::{Json, Periodic};
use workhost_runtime::{Handler, LoadError, Retention, Runtime};

use crate::config::{Config, KindSettings, ScopeRule};
use crate::finding::{Finding, Findings};

pub use schema::PayloadSchema;

/// Every declared kind with the one handler that runs it.
pub struct Registry {
    kinds: BTreeMap<String, Arc<Kind>>,
    periodics: Vec<Periodic>,
}

/// One kind: its settings, its handler, its payload type.
pub struct Kind {
    /// The kind's name.
    pub name: String,
    /// What the configuration says of it.
    pub settings: KindSettings,
    /// What its payloads must match.
    pub schema: PayloadSchema,
    /// The component that runs it.
    pub handler: Handler,
}

/// A component that could be loaded, and which `[[handlers]]` entry it came from.
struct Loaded {
    index: usize,
    component: PathBuf,
    handler: Handler,
}

impl Registry {
    /// Loads every component and checks the whole. Calls `loaded` after each component.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
    pub async fn load(
        config: &Config,
        runtime: &Runtime,
        retention: Arc<dyn Retention>,
        loaded: &(dyn Fn() + Sync),
    ) -> Result<Registry, Findings> {
        let (databases, mut findings) = grants::connect_databases(config).await;
        // Without its database a handler would only be told wrong things of its grants.
        let complete = config
            .handlers
            .iter()
            .enumerate()
            .filter(|(_, settings)| settings.sql.values().all(|grant| databases.contains_key(&grant.database)));
        let loads = complete.map(|(index, settings)| {
            let component = config.source.resolve(&settings.component);
            let grants = grants::grants(settings, config, &databases, &retention);
            async move {
                let handler = runtime.load(&component, grants).await;
                loaded();
                (index, handler, component)
            }
        });
        let mut loaded = Vec::new();
        for (index, result, component) in join_all(loads).await {
            match result {
                Ok(handler) => loaded.push(Loaded { index, component, handler }),
                Err(error) => findings.push(load_finding(config, index, &error)),
            }
        }
        Registry::join(config, loaded, findings)
    }

    /// Loads every component for what it says of its kinds, without grants or databases: enough to check
    /// payloads, not to run them.
    ///
    /// # Errors
    /// As [`Registry::load`].
    pub async fn describe(config: &Config, runtime: &Runtime) -> Result<BTreeMap<String, PayloadSchema>, Findings> {
        let loads = config.handlers.iter().enumerate().map(|(index, settings)| {
            let component = config.source.resolve(&settings.component);
            async move { (index, runtime.describe(&component).await) }
        });
        let mut findings = Vec::new();
        let mut schemas = BTreeMap::new();
        for (index, result) in join_all(loads).await {
            match result {
                Ok(kinds) => {
                    for kind in kinds {
                        if let Some(schema) =
                            compile_schema(config, index, &kind.kind, &kind.payload_schema, &mut findings)
                        {
                            schemas.insert(kind.kind, schema);
                        }
                    }
                }
                Err(error) => findings.push(load_finding(config, index, &error)),
            }
        }
        if findings.is_empty() { Ok(schemas) } else { Err(Findings(findings)) }
    }

    fn join(config: &Config, loaded: Vec<Loaded>, mut findings: Vec<Finding>) -> Result<Registry, Findings> {
        let described: Vec<check::Described> = loaded
            .iter()
            .map(|loaded| check::Described {
                index: loaded.index,
                component: loaded.component.clone(),
                kinds: loaded.handler.kinds().iter().map(|kind| kind.kind.clone()).collect(),
            })
            .collect();
        let incomplete = loaded.len() < config.handlers.len();
        findings.extend(check::coverage(config, &described, incomplete));
        let mut kinds = BTreeMap::new();
        for Loaded { index, handler, .. } in loaded {
            for description in handler.kinds() {
                let name = &description.kind;
                let Some(schema) = compile_schema(config, index, name, &description.payload_schema, &mut findings)
                else {
                    continue;
                };
                let Some(settings) = config.kinds.get(name).cloned() else { continue };
                findings.extend(check::periodic_payload(config, name, &settings, &schema));
                let kind = Kind { name: name.clone(), settings, schema, handler: handler.clone() };
                kinds.insert(name.clone(), Arc::new(kind));
            }
        }
        if !findings.is_empty() {
            return Err(Findings(findings));
        }
        let periodics = kinds.values().flat_map(|kind| kind.periodics()).collect();
        Ok(Registry { kinds, periodics })
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

impl Kind {
    fn periodics(&self) -> Vec<Periodic> {
        let Some(schedule) = &self.settings.schedule else { return Vec::new() };
        let scopes = match self.settings.scope {
            ScopeRule::Required => self.settings.scopes.iter().cloned().map(Some).collect(),
            ScopeRule::Optional => vec![None],
        };
        let payload: Json = self.settings.payload.clone().into();
        let periodic =
            |scope| Periodic { kind: self.name.clone(), scope, payload: payload.clone(), schedule: schedule.clone() };
        scopes.into_iter().map(periodic).collect()
    }
}

fn compile_schema(
    config: &Config,
    index: usize,
    kind: &str,
    schema: &serde_json::Value,
    findings: &mut Vec<Finding>,
) -> Option<PayloadSchema> {
    match PayloadSchema::compile(schema) {
        Ok(schema) => Some(schema),
        Err(reason) => {
            let problem =
                format!("the payload schema that the component gives for kind `{kind}` is no JSON Schema: {reason}");
            findings.push(component_finding(config, index, "schema-invalid", problem, None));
            None
        }
    }
}

fn load_finding(config: &Config, index: usize, error: &LoadError) -> Finding {
    component_finding(config, index, error.code(), error.to_string(), error.hint())
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
