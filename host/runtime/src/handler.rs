//! A loaded handler.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::attempt;
use crate::bindings::SandboxPre;
use crate::capability::config::ConfigGrant;
use crate::capability::dirs::DirGrant;
use crate::capability::secrets::{Mask, Secrets};
use crate::capability::sql::Statement;
use crate::capability::{http, queue, retention};
use crate::control::Control;
use crate::ended::Ended;
use crate::examined::Examined;
use crate::job::Job;
use crate::limits::Limits;
use crate::runtime::Runtime;
use crate::sandbox::State;

/// A component that was compiled, checked, linked to its grants and asked for its kinds.
///
/// Cheap to clone. Attempts share nothing but the compiled code.
#[derive(Clone)]
pub struct Handler(pub(crate) Arc<Loaded>);

/// What all clones of a handler share.
pub(crate) struct Loaded {
    pub(crate) runtime: Runtime,
    pub(crate) pre: SandboxPre<State>,
    pub(crate) granted: Granted,
    /// Takes the granted secrets out of what people read.
    pub(crate) mask: Mask,
    /// Bytes of memory per attempt.
    pub(crate) memory_bytes: usize,
    /// Those of the runtime, narrowed by what it imports.
    pub(crate) limits: Limits,
    pub(crate) examined: Examined,
}

/// Grants that were checked, ready for use by attempts. By default there are none.
#[derive(Default)]
pub(crate) struct Granted {
    pub(crate) sql: Arc<BTreeMap<String, Statement>>,
    pub(crate) queue: Option<queue::Granted>,
    pub(crate) retention: Option<retention::Granted>,
    pub(crate) dirs: Vec<DirGrant>,
    pub(crate) http: Option<Arc<http::Granted>>,
    pub(crate) config: Arc<ConfigGrant>,
    pub(crate) secrets: Arc<Secrets>,
}

/// What a handler says about one of its kinds.
#[derive(Clone, Debug, PartialEq)]
pub struct KindDescription {
    /// The kind's name.
    pub kind: String,
    /// One sentence for people.
    pub summary: String,
    /// The JSON Schema of its payloads, as the handler gave it.
    pub payload_schema: serde_json::Value,
}

impl Handler {
    /// What was learnt of the component when it was loaded.
    pub fn examined(&self) -> &Examined {
        &self.0.examined
    }

    /// Runs one attempt in a fresh sandbox.
    ///
    /// Ends by itself when the control is ended. Dropping the future ends the guest at its next yield or
    /// host call, and takes the sandbox down. A trap costs this attempt alone.
    pub async fn run(&self, job: Job, control: Arc<Control>) -> Ended {
        attempt::run(&self.0, job, control).await
    }
}
