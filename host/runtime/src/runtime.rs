//! The runtime: an engine, and the way from a file to a handler.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::bindings::SandboxPre;
use crate::cache::CompileCache;
use crate::capability::{dirs, sql};
use crate::compile;
use crate::describe;
use crate::engine;
use crate::error::{LoadError, RuntimeError};
use crate::grants::Grants;
use crate::handler::{Granted, Handler, KindDescription, Loaded};
use crate::imports::{self, Import};
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
    /// imports that were not granted, prepares the granted statements, looks for the granted folders, and
    /// asks the component which kinds it runs.
    ///
    /// Compiles on a blocking thread, as many components at a time as there are cores; a large one takes seconds, and
    /// is told of in the log. Runs no guest code but `describe`.
    pub async fn load(&self, component: &Path, grants: Grants) -> Result<Handler, LoadError> {
        let Shared { engine, limits, .. } = &*self.0;
        let memory_bytes = memory(&grants, limits)?;
        let compiled = compile::compile(&self.0, component).await?;
        let imports = imports::sort(engine, &compiled.component, &grants)?;
        let unused = imports::unused_grants(&imports, &grants);
        let pre = prelink(engine, &compiled.component, &imports)?;
        dirs::check(&grants.dirs)?;
        let sql = Arc::new(sql::prepare(grants.sql, limits).await?);
        let kinds = describe::describe(&self.0, &pre, memory_bytes).await?;
        let granted = Granted { sql, retention: grants.retention, dirs: grants.dirs, memory_bytes };
        Ok(Handler(Arc::new(Loaded {
            runtime: self.clone(),
            pre,
            granted,
            digest: compiled.digest,
            kinds,
            imports,
            unused,
        })))
    }

    /// Asks a component which kinds it runs, without granting or running anything else. Every import that
    /// some grant could allow is there, and refuses.
    pub async fn describe(&self, component: &Path) -> Result<Vec<KindDescription>, LoadError> {
        let Shared { engine, limits, .. } = &*self.0;
        let compiled = compile::compile(&self.0, component).await?;
        let imports = imports::sort_grantable(engine, &compiled.component)?;
        let pre = prelink(engine, &compiled.component, &imports)?;
        describe::describe(&self.0, &pre, limits.memory_bytes).await
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0
    }
}

/// The bytes of memory that an attempt gets.
fn memory(grants: &Grants, limits: &Limits) -> Result<usize, LoadError> {
    match grants.memory_bytes {
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
