//! A component: its bytes, compiling them, and whether it is a handler for this host.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::digest::{ComponentFile, Digest};
use crate::error::LoadError;
use crate::file;
use crate::imports::{CONTRACT, InterfaceName, OFFERED};

/// A component's bytes as they were read, and their SHA-256.
pub(crate) struct Source {
    path: PathBuf,
    bytes: Vec<u8>,
    pub(crate) sha256: [u8; 32],
}

impl Source {
    /// Reads a file of at most `limit` bytes, which must be what was pinned. Blocks.
    pub(crate) fn read(file: ComponentFile<'_>, limit: u64) -> Result<Source, LoadError> {
        let path = file.path.to_owned();
        let bytes = file::read(&path, limit)?;
        let sha256 = Sha256::digest(&bytes).into();
        match file.digest {
            Some(pinned) if pinned != Digest(sha256) => {
                Err(LoadError::OtherDigest { path, pinned, found: Digest(sha256) })
            }
            _ => Ok(Source { path, bytes, sha256 }),
        }
    }

    /// Compiles it. Blocks, for seconds if it is large.
    pub(crate) fn compile(&self, engine: &Engine) -> Result<Component, LoadError> {
        Component::from_binary(engine, &self.bytes).map_err(|error| refusal(&self.path, &error))
    }

    /// The file's size.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// `sha256:` and 64 hexadecimal digits.
    pub(crate) fn digest(&self) -> String {
        Digest(self.sha256).to_string()
    }
}

/// Why the engine does not take a component. Its errors have no types that tell these apart.
fn refusal(path: &Path, error: &wasmtime::Error) -> LoadError {
    let (path, reason) = (path.to_owned(), format!("{error:#}"));
    let root = error.root_cause().to_string();
    if root.contains("component model async feature") {
        LoadError::Feature { path, feature: "async functions, streams or futures" }
    } else if root.contains(" feature") || root.contains("must be enabled") {
        LoadError::Feature { path, feature: "a part of WebAssembly that is off here" }
    } else if reason.contains("pooling allocator") || root.contains("exceeds the ") {
        LoadError::TooDemanding { path, reason: root }
    } else {
        LoadError::Invalid { path, reason }
    }
}

/// The version in which it exports the contract's `handler`; one that does not fit is an error.
pub(crate) fn contract(engine: &Engine, component: &Component) -> Result<String, LoadError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_component_exports_instead_of_a_handler_is_told() {
        let engine = Engine::default();
        let told = |text: &str| {
            let component = Component::from_binary(&engine, &wat::parse_str(text).unwrap()).unwrap();
            contract(&engine, &component).unwrap_err().to_string()
        };
        assert!(told("(component)").contains("it exports nothing"));
        let other = r#"(component (component $c) (instance $i (instantiate $c)) (export "other" (instance $i)))"#;
        assert!(told(other).contains("it exports `other`"));
    }

    #[test]
    fn a_file_just_as_large_as_its_limit_is_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes = wat::parse_str("(component)").unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        let limit = bytes.len() as u64;
        assert_eq!(Source::read(file.path().into(), limit).unwrap().size(), bytes.len());
        assert!(matches!(Source::read(file.path().into(), limit - 1), Err(LoadError::TooLarge { .. })));
    }

    #[test]
    fn a_feature_that_is_off_is_told_from_a_broken_file() {
        let refused = |words: &'static str| refusal(Path::new("x.wasm"), &wasmtime::Error::msg(words));
        for off in ["memory64 must be enabled", "requires the gc feature"] {
            assert!(matches!(refused(off), LoadError::Feature { .. }), "{off}");
        }
        assert!(matches!(refused("exceeds the limit of 4"), LoadError::TooDemanding { .. }));
        assert!(matches!(refused("unexpected end"), LoadError::Invalid { .. }));
    }
}
