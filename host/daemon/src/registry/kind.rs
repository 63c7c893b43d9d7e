//! One kind, and what runs its items.

use std::sync::Arc;

use async_trait::async_trait;
use workhost_queue::{Json, Periodic};
use workhost_runtime::{Control, Ended, Handler, Job};

use super::ItemRule;
use crate::config::{KindSettings, ScopeRule};

/// One kind: its settings, its handler, its payload type.
pub struct Kind {
    /// The kind's name.
    pub name: String,
    /// What the configuration says of it.
    pub settings: KindSettings,
    /// What its items must be.
    pub rule: Arc<ItemRule>,
    /// The digest of the component that runs it.
    pub digest: String,
    /// The component that runs it.
    pub handler: Arc<dyn Run>,
}

/// What runs items: a loaded component. Timelines of the worker's tests run scripts instead.
#[async_trait]
pub trait Run: Send + Sync {
    /// Runs one attempt to its end. It ends soon after its control was ended, or when the future is dropped.
    async fn run(&self, job: Job, control: Arc<Control>) -> Ended;
}

#[async_trait]
impl Run for Handler {
    async fn run(&self, job: Job, control: Arc<Control>) -> Ended {
        Handler::run(self, job, control).await
    }
}

impl Kind {
    pub(super) fn new(name: &str, settings: &KindSettings, rule: ItemRule, handler: &Handler) -> Kind {
        Kind {
            name: name.to_owned(),
            settings: settings.clone(),
            rule: Arc::new(rule),
            digest: handler.examined().digest.clone(),
            handler: Arc::new(handler.clone()),
        }
    }

    /// Its schedules; one for each listed scope where it requires one.
    pub(super) fn periodics(&self) -> Vec<Periodic> {
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
