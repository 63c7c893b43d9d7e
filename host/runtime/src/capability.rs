//! The capabilities. One file each, in one shape: the grant, what the registry must know of it, the context of an
//! attempt, the host functions.
//!
//! Every host function with an effect first asks [`Caller::alive`].

pub(crate) mod config;
pub(crate) mod dirs;
pub(crate) mod http;
pub(crate) mod log;
pub(crate) mod queue;
pub(crate) mod retention;
pub(crate) mod secrets;
pub(crate) mod sql;
pub(crate) mod work;

use std::sync::Arc;

use wasmtime::component::Linker;

use crate::control::{Control, Effect, EndedByHost};
use crate::grants::Grants;
use crate::handler::Granted;
use crate::job::Job;
use crate::limits::Limits;
use crate::output::Output;
use crate::sandbox::State;

/// What the registry must know of a capability.
pub(crate) struct Capability {
    /// How it is granted.
    pub(crate) form: GrantForm,
    /// The interfaces that it lets in, without their versions; the first is the one that it is used by.
    pub(crate) interfaces: &'static [&'static str],
    /// Whether its interfaces are there without a grant, empty and refusing.
    pub(crate) inert: bool,
    /// Whether it is granted.
    pub(crate) is_granted: fn(&Grants) -> bool,
    /// Adds one of its interfaces to a linker.
    pub(crate) link: fn(&mut Linker<State>, interface: &str) -> wasmtime::Result<()>,
}

/// How a capability is granted in a handler's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantForm {
    /// The key under `[[handlers]]`: `sql`.
    pub key: &'static str,
    /// The lines that grant it, to be filled in.
    pub toml: &'static str,
}

impl GrantForm {
    /// The table that grants it: `[handlers.sql.NAME]`.
    pub fn table(&self) -> &'static str {
        self.toml.split_whitespace().next().unwrap_or_default()
    }
}

/// Every capability that is granted.
pub(crate) const ALL: [&Capability; 7] = [
    &sql::CAPABILITY,
    &queue::CAPABILITY,
    &retention::CAPABILITY,
    &dirs::CAPABILITY,
    &http::CAPABILITY,
    &config::CAPABILITY,
    &secrets::CAPABILITY,
];

/// The capability that lets this interface in.
pub(crate) fn of(interface: &str) -> Option<&'static Capability> {
    ALL.into_iter().find(|capability| capability.interfaces.contains(&interface))
}

/// The attempt that host functions are called by.
pub(crate) struct Caller {
    control: Arc<Control>,
    pub(crate) id: u64,
    pub(crate) attempt: u32,
    pub(crate) scope: Option<String>,
}

impl Caller {
    pub(crate) fn new(control: &Arc<Control>, job: &Job) -> Arc<Caller> {
        Arc::new(Caller { control: control.clone(), id: job.id, attempt: job.attempt, scope: job.scope.clone() })
    }

    /// The question that every host function with an effect asks first.
    pub(crate) fn alive(&self) -> Result<(), EndedByHost> {
        self.control.alive()
    }

    /// The question before an effect that nothing takes back: the attempt's end waits for it.
    pub(crate) fn begin_effect(&self) -> Result<Effect, EndedByHost> {
        self.control.begin_effect()
    }

    /// Whether the attempt was ended.
    pub(crate) fn is_ended(&self) -> bool {
        self.control.is_ended()
    }

    /// Waits until the attempt was ended.
    pub(crate) async fn ended(&self) {
        self.control.ended().await;
    }

    /// The store says that the item is another's: the attempt ends here.
    pub(crate) fn lost(&self) -> EndedByHost {
        self.control.end();
        EndedByHost
    }
}

/// What the host functions of one attempt reach.
pub(crate) struct Contexts {
    pub(crate) sql: sql::SqlContext,
    pub(crate) queue: queue::QueueContext,
    pub(crate) retention: retention::RetentionContext,
    pub(crate) http: http::HttpContext,
    pub(crate) config: config::ConfigContext,
    pub(crate) secrets: secrets::SecretsContext,
}

impl Contexts {
    pub(crate) fn new(granted: &Granted, caller: &Arc<Caller>, output: &Arc<Output>, limits: &Limits) -> Contexts {
        Contexts {
            sql: sql::SqlContext::new(caller.clone(), granted.sql.clone(), limits),
            queue: queue::QueueContext::new(caller.clone(), granted.queue.clone(), limits),
            retention: retention::RetentionContext::new(caller.clone(), granted.retention.clone()),
            http: http::HttpContext::new(granted.http.clone(), caller, output, limits),
            config: config::ConfigContext::new(caller.clone(), granted.config.clone()),
            secrets: secrets::SecretsContext::new(caller.clone(), granted.secrets.clone()),
        }
    }
}
