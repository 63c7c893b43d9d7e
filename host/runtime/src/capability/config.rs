//! `config`: settings of one handler, from the configuration.

use std::collections::BTreeMap;
use std::sync::Arc;

use wasmtime::component::HasSelf;

use super::{Caller, Capability, GrantForm};
use crate::bindings::workhost::handler::config;
use crate::sandbox::State;

pub(crate) const CAPABILITY: Capability = Capability {
    form: GrantForm {
        key: "config",
        toml: "  [handlers.config]\n  KEY = \"…\"                       # one line for each setting that it reads\n",
    },
    interfaces: &["workhost:handler/config"],
    inert: false,
    is_granted: |grants| !grants.config.is_empty(),
    link: |linker, _| {
        config::add_to_linker::<State, HasSelf<ConfigContext>>(linker, |state| &mut state.contexts.config)
    },
};

/// Settings by key.
pub type ConfigGrant = BTreeMap<String, serde_json::Value>;

/// What the attempt's calls of `config` reach.
pub(crate) struct ConfigContext {
    caller: Arc<Caller>,
    values: Arc<ConfigGrant>,
}

impl ConfigContext {
    pub(crate) fn new(caller: Arc<Caller>, values: Arc<ConfigGrant>) -> Self {
        ConfigContext { caller, values }
    }
}

impl config::Host for ConfigContext {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<String>> {
        self.caller.alive()?;
        Ok(self.values.get(&key).map(ToString::to_string))
    }
}
