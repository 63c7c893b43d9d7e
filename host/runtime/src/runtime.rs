//! The runtime: an engine, and the way from a file to a handler.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::bindings::SandboxPre;
use crate::cache::CompileCache;
use crate::capability::secrets::Secrets;
use crate::capability::{dirs, http, queue, retention, sql};
use crate::compile;
use crate::describe;
use crate::digest::ComponentFile;
use crate::engine;
use crate::error::{LoadError, RuntimeError};
use crate::examined::{Examined, Inspection};
use crate::grants::{Backends, Grants};
use crate::handler::{Granted, Handler, Loaded};
use crate::imports::{self, Import, ImportClass};
use crate::limits::Limits;
use crate::linker;
use crate::sandbox::State;
use crate::text;

/// Where handlers are loaded and run. Cheap to clone; one per process is enough.
#[derive(Clone)]
pub struct Runtime(Arc<Shared>);

/// What all clones of a runtime share.
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) limits: Limits,
    /// One per sandbox that there may be at a time.
    pub(crate) turns: Semaphore,
    /// One per core: how many components are read and compiled at a time.
    pub(crate) compiling: Semaphore,
    /// Where compiled code is kept, if anywhere.
    pub(crate) cache: Option<CompileCache>,
}

impl Runtime {
    /// Starts an engine within these limits, and the thread that counts its epochs. The thread ends with
    /// the last clone and the last handler. Each component is compiled anew.
    pub fn new(limits: Limits) -> Result<Runtime, RuntimeError> {
        Runtime::with_cache(limits, None)
    }

    /// The same, with compiled code from this cache.
    pub fn with_cache(limits: Limits, cache: Option<CompileCache>) -> Result<Runtime, RuntimeError> {
        let engine = engine::start(&limits)?;
        let turns = Semaphore::new(limits.attempts as usize);
        let compiling = Semaphore::new(std::thread::available_parallelism().map_or(1, usize::from));
        Ok(Runtime(Arc::new(Shared { engine, limits, turns, compiling, cache })))
    }

    /// Reads, compiles and checks a component with its grants: names wrong input for what it is, refuses
    /// imports that were not granted, prepares the granted statements, reads the granted secrets, looks for the granted
    /// folders, and asks the component which kinds it runs.
    ///
    /// Compiles on a blocking thread, as many components at a time as there are cores; a large one takes seconds, and
    /// is told of in the log. Runs no guest code but `describe`.
    pub async fn load<'f>(
        &self,
        file: impl Into<ComponentFile<'f>>,
        grants: Grants,
        backends: &Backends,
    ) -> Result<Handler, LoadError> {
        let limits = &self.0.limits;
        let file = file.into();
        let component = file.path;
        let (examined, pre) = self.examined(file, &grants).await?;
        let mut errors = Vec::new();
        let sql = sql::prepare(&grants.sql, &backends.databases, limits)
            .await
            .map_err(|error| errors.push(error))
            .unwrap_or_default();
        let secrets = Secrets::read(&grants.secrets).map_err(|error| errors.push(error)).unwrap_or_default();
        let http =
            grants.http.map(|grant| http::prepare(grant, component, backends.resolver.clone(), limits)).transpose();
        let http = http.map_err(|error| errors.push(error)).unwrap_or_default();
        LoadError::all(errors)?;
        let memory_bytes = memory(grants.memory_bytes, limits)?;
        let limits = http::narrowed(limits, &examined.imports);
        let mask = secrets.mask();
        let queue = || backends.queue.clone();
        let granted = Granted {
            sql: Arc::new(sql),
            queue: grants.queue.map(|grant| queue::Granted { grant, backend: queue() }),
            retention: grants.retention.map(|grant| retention::Granted { grant, backend: queue() }),
            dirs: grants.dirs,
            http,
            config: Arc::new(grants.config),
            secrets: Arc::new(secrets),
        };
        Ok(Handler(Arc::new(Loaded { runtime: self.clone(), pre, granted, mask, memory_bytes, limits, examined })))
    }

    /// Checks a component against its grants as [`load`](Runtime::load) does, as far as that needs nothing but the
    /// component: statements are looked at and not prepared, secrets are not read.
    pub async fn examine<'f>(
        &self,
        file: impl Into<ComponentFile<'f>>,
        grants: &Grants,
    ) -> Result<Examined, LoadError> {
        Ok(self.examined(file.into(), grants).await?.0)
    }

    async fn examined(
        &self,
        file: ComponentFile<'_>,
        grants: &Grants,
    ) -> Result<(Examined, SandboxPre<State>), LoadError> {
        let Shared { engine, limits, .. } = &*self.0;
        let memory_bytes = memory(grants.memory_bytes, limits)?;
        let compiled = compile::compile(&self.0, file).await?;
        let (imports, refused) = imports::divide(engine, &compiled.component, grants);
        let mut errors = sql::check(&grants.sql);
        errors.extend(dirs::check(&grants.dirs));
        errors.extend(grants.http.as_ref().and_then(|grant| http::check(grant).err()));
        if !refused.is_empty() {
            errors.insert(0, LoadError::ImportsRefused { imports: refused });
        }
        LoadError::all(errors)?;
        let unused_grants = imports::unused_grants(&imports, grants);
        let pre = prelink(engine, &compiled.component, &imports)?;
        let kinds = describe::describe(&self.0, &pre, memory_bytes, &http::narrowed(limits, &imports)).await?;
        Ok((Examined { digest: compiled.digest, contract: compiled.contract, kinds, imports, unused_grants }, pre))
    }

    /// Looks at a component without granting it anything: what it imports, and which kinds it says that it runs.
    pub async fn inspect(&self, component: &Path) -> Result<Inspection, LoadError> {
        let Shared { engine, limits, .. } = &*self.0;
        let compiled = compile::compile(&self.0, component.into()).await?;
        let (mut imports, refused) = imports::divide(engine, &compiled.component, &Grants::default());
        let (grantable, refused): (Vec<_>, Vec<_>) = refused.into_iter().partition(|import| import.grant.is_some());
        let inert_or_base = imports.clone();
        // For `describe`, whatever some grant could allow is there, and refuses.
        imports
            .extend(grantable.iter().map(|import| Import { name: import.name.clone(), class: ImportClass::Granted }));
        let kinds = async {
            if !refused.is_empty() {
                return Err(LoadError::ImportsRefused { imports: refused.clone() });
            }
            let pre = prelink(engine, &compiled.component, &imports)?;
            describe::describe(&self.0, &pre, limits.memory_bytes, &http::narrowed(limits, &imports)).await
        };
        Ok(Inspection {
            digest: compiled.digest,
            bytes: compiled.bytes,
            contract: compiled.contract,
            kinds: kinds.await,
            imports: inert_or_base,
            grantable,
            refused,
        })
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0
    }
}

/// The bytes of memory that an attempt gets.
fn memory(granted: Option<usize>, limits: &Limits) -> Result<usize, LoadError> {
    match granted {
        None => Ok(limits.memory_bytes),
        Some(bytes) if bytes <= limits.max_memory_bytes => Ok(bytes),
        Some(bytes) => Err(LoadError::Memory { wanted: text::size(bytes), limit: text::size(limits.max_memory_bytes) }),
    }
}

/// Links and checks types once, so that an attempt only instantiates.
fn prelink(engine: &Engine, component: &Component, imports: &[Import]) -> Result<SandboxPre<State>, LoadError> {
    linker::link(engine, imports)
        .and_then(|linker| linker.instantiate_pre(component))
        .and_then(SandboxPre::new)
        .map_err(|reason| LoadError::TypeMismatch { reason: format!("{reason:#}") })
}
