//! From a file to a compiled handler, off the async threads.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::Component;

use crate::cache::Key;
use crate::component::{Source, contract};
use crate::digest::ComponentFile;
use crate::error::LoadError;
use crate::runtime::Shared;

/// People are told of what takes longer than this.
const PATIENCE: Duration = Duration::from_secs(1);

/// A compiled component, and the digest of the bytes that it was compiled from.
pub(crate) struct Compiled {
    pub(crate) component: Component,
    /// `sha256:` and 64 hexadecimal digits.
    pub(crate) digest: String,
    /// The file's size.
    pub(crate) bytes: usize,
    /// The version of the contract that it was built against.
    pub(crate) contract: String,
}

/// Reads a component and compiles it, or takes its code from the cache. Waits its turn where as many are being
/// compiled as there are cores.
/// What is not what was pinned is neither compiled nor looked for.
pub(crate) async fn compile(shared: &Arc<Shared>, file: ComponentFile<'_>) -> Result<Compiled, LoadError> {
    let ComponentFile { path, digest: pinned } = file;
    let _turn = shared.compiling.acquire().await.expect("the semaphore is never closed");
    let limit = shared.limits.component_bytes;
    let source =
        blocking(shared, path, move |_, path| Source::read(ComponentFile { path, digest: pinned }, limit)).await?;
    let (digest, bytes) = (source.digest(), source.size());
    let source = Arc::new(source);
    let found = blocking(shared, path, {
        let source = source.clone();
        move |shared, _| find(shared, &source)
    });
    if let Some((component, contract)) = found.await? {
        tracing::debug!(component = %path.display(), digest, "compiled code from the cache");
        return Ok(Compiled { component, digest, bytes, contract });
    }
    let start = Instant::now();
    let compiling = blocking(shared, path, move |shared, _| {
        let component = source.compile(&shared.engine)?;
        let contract = contract(&shared.engine, &component)?;
        let took = start.elapsed();
        if let Some(cache) = &shared.cache {
            cache.keep(&Key::new(&shared.engine, &source.sha256), &component);
        }
        Ok((component, contract, took))
    });
    let (component, contract, took) = with_notice(path, PATIENCE, compiling).await?;
    tracing::debug!(component = %path.display(), digest, ?took, "compiled");
    Ok(Compiled { component, digest, bytes, contract })
}

/// The component from the cache, if it is there, and its contract.
fn find(shared: &Shared, source: &Source) -> Result<Option<(Component, String)>, LoadError> {
    let Some(cache) = &shared.cache else { return Ok(None) };
    let Some(component) = cache.find(&shared.engine, &Key::new(&shared.engine, &source.sha256)) else {
        return Ok(None);
    };
    let contract = contract(&shared.engine, &component)?;
    Ok(Some((component, contract)))
}

/// Says what it waits for, when that takes long.
async fn with_notice<T>(
    path: &Path,
    patience: Duration,
    work: impl Future<Output = Result<T, LoadError>>,
) -> Result<T, LoadError> {
    let mut work = std::pin::pin!(work);
    let start = Instant::now();
    if let Ok(done) = tokio::time::timeout(patience, &mut work).await {
        return done;
    }
    tracing::info!("compiling {}", path.display());
    let done = work.await;
    if done.is_ok() {
        tracing::info!("compiled {} in {:.1} s", path.display(), start.elapsed().as_secs_f32());
    }
    done
}

/// Runs this on a thread for work that blocks.
async fn blocking<T: Send + 'static>(
    shared: &Arc<Shared>,
    path: &Path,
    work: impl FnOnce(&Shared, &Path) -> Result<T, LoadError> + Send + 'static,
) -> Result<T, LoadError> {
    let (shared, owned) = (shared.clone(), path.to_owned());
    let done = tokio::task::spawn_blocking(move || work(&shared, &owned)).await;
    // A panic of the compiler is a finding about this component, not the end of the host.
    done.unwrap_or_else(|panic| {
        Err(LoadError::Invalid { path: path.to_owned(), reason: format!("the compiler broke on it: {panic}") })
    })
}

#[cfg(test)]
mod tests;
