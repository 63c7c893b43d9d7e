//! `secrets`: passwords, keys and tokens of one handler, from the environment or from files.

mod mask;
mod source;

use std::collections::BTreeMap;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use wasmtime::component::HasSelf;

use super::{Caller, Capability, GrantForm};
use crate::bindings::workhost::handler::secrets;
use crate::error::LoadError;
use crate::sandbox::State;

pub(crate) use mask::Mask;
pub use source::SecretSource;

pub(crate) const CAPABILITY: Capability = Capability {
    form: GrantForm {
        key: "secrets",
        toml: "  [handlers.secrets]\n  NAME = { env = \"…\" }             # or { file = \"…\" }; one line for each secret that it reads\n",
    },
    interfaces: &["workhost:handler/secrets"],
    inert: false,
    is_granted: |grants| !grants.secrets.is_empty(),
    link: |linker, _| {
        secrets::add_to_linker::<State, HasSelf<SecretsContext>>(linker, |state| &mut state.contexts.secrets)
    },
};

/// Secrets by name. Their text is shown to nobody but the handler, and overwritten when it is no longer needed.
#[derive(Debug, Default)]
pub(crate) struct Secrets(BTreeMap<String, SecretString>);

impl Secrets {
    /// Reads every secret from where it is.
    pub(crate) fn read(sources: &BTreeMap<String, SecretSource>) -> Result<Secrets, LoadError> {
        let (mut secrets, mut errors) = (BTreeMap::new(), Vec::new());
        for (name, source) in sources {
            match source.read() {
                Ok(secret) => drop(secrets.insert(name.clone(), secret)),
                Err(reason) => errors.push(LoadError::Secret { name: name.clone(), reason }),
            }
        }
        LoadError::all(errors)?;
        Ok(Secrets(secrets))
    }

    /// What puts something else in their place.
    pub(crate) fn mask(&self) -> Mask {
        Mask::new(self.0.values().map(ExposeSecret::expose_secret))
    }
}

/// What the attempt's calls of `secrets` reach.
pub(crate) struct SecretsContext {
    caller: Arc<Caller>,
    secrets: Arc<Secrets>,
}

impl SecretsContext {
    pub(crate) fn new(caller: Arc<Caller>, secrets: Arc<Secrets>) -> Self {
        SecretsContext { caller, secrets }
    }
}

impl secrets::Host for SecretsContext {
    async fn get(&mut self, name: String) -> wasmtime::Result<Option<String>> {
        self.caller.alive()?;
        Ok(self.secrets.0.get(&name).map(|secret| secret.expose_secret().to_owned()))
    }
}
