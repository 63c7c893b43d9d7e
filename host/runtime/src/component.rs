//! From bytes to a compiled component that is a handler for this host.

use std::path::Path;

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::error::LoadError;
use crate::file;
use crate::imports::{CONTRACT, InterfaceName, OFFERED};

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

/// Reads and compiles a component. Blocks, for seconds if it is large.
pub(crate) fn compile(engine: &Engine, path: &Path, limit: u64) -> Result<Compiled, LoadError> {
    let bytes = file::read(path, limit)?;
    let digest = format!("sha256:{}", hex::encode(Sha256::digest(&bytes)));
    let component = Component::from_binary(engine, &bytes)
        .map_err(|reason| LoadError::Invalid { path: path.to_owned(), reason: format!("{reason:#}") })?;
    let contract = contract(engine, &component)?;
    Ok(Compiled { component, digest, bytes: bytes.len(), contract })
}

/// The version in which it exports the contract's `handler`; one that does not fit is an error.
fn contract(engine: &Engine, component: &Component) -> Result<String, LoadError> {
    let kind = component.component_type();
    let exports: Vec<&str> = kind.exports(engine).map(|(name, _)| name).collect();
    let handler =
        exports.iter().map(|name| InterfaceName::parse(name)).find(|name| name.path == "workhost:handler/handler");
    let imports = kind.imports(engine).map(|(name, _)| InterfaceName::parse(name)).collect::<Vec<_>>();
    // An import of another version says more than the missing export of this one.
    if let Some(other) = handler.iter().chain(&imports).find(|name| name.package() == CONTRACT && !name.fits(OFFERED)) {
        return Err(LoadError::OtherVersion { needs: other.compatible_version(), offers: "0.1".into() });
    }
    match handler {
        Some(handler) => Ok(handler.version.unwrap_or_default().to_owned()),
        None if exports.is_empty() => Err(LoadError::NotAHandler { exports: "it exports nothing".into() }),
        None => {
            let some: Vec<_> = exports.iter().take(5).map(|name| format!("`{name}`")).collect();
            Err(LoadError::NotAHandler { exports: format!("it exports {}", some.join(", ")) })
        }
    }
}
