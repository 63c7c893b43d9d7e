//! A registry as far as it was to be checked.

use workhost_runtime::Runtime;

use crate::config::Config;
use crate::finding::{Finding, Findings};
use crate::registry::{Described, Examination, PayloadSchema, Registry};

/// What is known of a registry.
pub(super) enum Known {
    /// All: it could start.
    Whole(Registry),
    /// What can be known without a database.
    Offline(Examination),
}

impl Known {
    /// Checks the registry, and answers what was found. Nothing is known of one that is not valid, unless it is checked
    /// offline.
    pub(super) async fn check(
        config: &Config,
        runtime: &Runtime,
        offline: bool,
        loaded: &(dyn Fn() + Sync),
    ) -> (Option<Known>, Vec<Finding>) {
        if offline {
            let mut examination = Registry::examine(config, runtime, loaded).await;
            let findings = std::mem::take(&mut examination.findings);
            return (Some(Known::Offline(examination)), findings);
        }
        match Registry::load(config, runtime, None, loaded).await {
            Ok((registry, findings)) => (Some(Known::Whole(registry)), findings),
            Err(Findings(findings)) => (None, findings),
        }
    }

    /// How many kinds there are.
    pub(super) fn kinds(&self) -> usize {
        match self {
            Known::Whole(registry) => registry.kinds().count(),
            Known::Offline(examination) => examination.schemas.len(),
        }
    }

    /// The payload type of this kind.
    pub(super) fn schema(&self, kind: &str) -> Option<&PayloadSchema> {
        match self {
            Known::Whole(registry) => registry.kind(kind).map(|kind| &kind.rule.schema),
            Known::Offline(examination) => examination.schemas.get(kind),
        }
    }

    /// The components.
    pub(super) fn handlers(&self) -> &[Described] {
        match self {
            Known::Whole(registry) => registry.handlers(),
            Known::Offline(examination) => &examination.handlers,
        }
    }
}
