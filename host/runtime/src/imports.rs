//! What a component imports, sorted into classes.

use wasmtime::Engine;
use wasmtime::component::Component;

use crate::capability::{self, Capability, GrantForm};
use crate::error::RefusedImport;
use crate::grants::Grants;

/// The package of the contract with handlers.
pub(crate) const CONTRACT: &str = "workhost:handler";
/// The version of the contract that this host offers, as far as compatibility goes.
pub(crate) const OFFERED: &str = "0.1.";
/// The version of WASI that this host offers, as far as compatibility goes.
const WASI: &str = "0.2.";

/// How far an import can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportClass {
    /// Everyone has it: clocks, randomness, standard streams, log, work.
    Base,
    /// Language runtimes drag it in: it is there, empty, and refuses.
    Inert,
    /// The handler's grants allow it.
    Granted,
}

/// One import of a loaded component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Its name with its version: `wasi:io/poll@0.2.6`.
    pub name: String,
    /// Why it was let in.
    pub class: ImportClass,
}

/// An interface's name, in parts: `workhost:handler/sql@0.1.0`.
pub(crate) struct InterfaceName<'a> {
    /// Package and interface: `workhost:handler/sql`.
    pub(crate) path: &'a str,
    pub(crate) version: Option<&'a str>,
}

impl<'a> InterfaceName<'a> {
    pub(crate) fn parse(name: &'a str) -> Self {
        match name.split_once('@') {
            Some((path, version)) => InterfaceName { path, version: Some(version) },
            None => InterfaceName { path: name, version: None },
        }
    }

    /// The package: `workhost:handler`.
    pub(crate) fn package(&self) -> &'a str {
        self.path.split_once('/').map_or(self.path, |(package, _)| package)
    }

    /// Whether its version is one of those that begin so.
    pub(crate) fn fits(&self, versions: &str) -> bool {
        self.version.is_some_and(|version| version.starts_with(versions))
    }

    /// As much of the version as compatibility depends on: `0.2`, `1`.
    pub(crate) fn compatible_version(&self) -> String {
        let Some(version) = self.version else {
            return "without a version".into();
        };
        let mut parts = version.split('.');
        match (parts.next(), parts.next()) {
            (Some("0"), Some(minor)) => format!("0.{minor}"),
            (Some(major), _) => major.into(),
            (None, _) => version.into(),
        }
    }
}

/// The imports that grants allow, and those that they do not.
pub(crate) fn divide(engine: &Engine, component: &Component, grants: &Grants) -> (Vec<Import>, Vec<RefusedImport>) {
    let mut imports = Vec::new();
    let mut refused = Vec::new();
    for (name, _) in component.component_type().imports(engine) {
        match classify(&InterfaceName::parse(name), grants) {
            Ok(class) => imports.push(Import { name: name.into(), class }),
            Err(grant) => refused.push(RefusedImport { name: name.into(), grant }),
        }
    }
    (imports, refused)
}

/// The class of an import, or the grant that it lacks, if there is one.
fn classify(name: &InterfaceName<'_>, grants: &Grants) -> Result<ImportClass, Option<GrantForm>> {
    if name.package() != CONTRACT && !name.fits(WASI) {
        return Err(None);
    }
    if let Some(capability) = capability::of(name.path) {
        return match (capability.is_granted)(grants) {
            true => Ok(ImportClass::Granted),
            false if capability.inert => Ok(ImportClass::Inert),
            false => Err(Some(capability.form)),
        };
    }
    match name.path {
        "workhost:handler/types"
        | "workhost:handler/work"
        | "workhost:handler/log"
        | "wasi:io/error"
        | "wasi:io/poll"
        | "wasi:io/streams"
        | "wasi:clocks/wall-clock"
        | "wasi:clocks/monotonic-clock"
        | "wasi:random/random"
        | "wasi:random/insecure"
        | "wasi:random/insecure-seed"
        | "wasi:cli/stdin"
        | "wasi:cli/stdout"
        | "wasi:cli/stderr"
        | "wasi:cli/exit"
        | "wasi:cli/terminal-input"
        | "wasi:cli/terminal-output"
        | "wasi:cli/terminal-stdin"
        | "wasi:cli/terminal-stdout"
        | "wasi:cli/terminal-stderr" => Ok(ImportClass::Base),
        "wasi:cli/environment"
        | "wasi:sockets/network"
        | "wasi:sockets/instance-network"
        | "wasi:sockets/ip-name-lookup"
        | "wasi:sockets/tcp"
        | "wasi:sockets/tcp-create-socket"
        | "wasi:sockets/udp"
        | "wasi:sockets/udp-create-socket" => Ok(ImportClass::Inert),
        _ => Err(None),
    }
}

/// The grants that a component with these imports cannot use, by their key in a handler's configuration.
pub(crate) fn unused_grants(imports: &[Import], grants: &Grants) -> Vec<&'static str> {
    let imported = |path| imports.iter().any(|import| InterfaceName::parse(&import.name).path == path);
    let is_unused = |capability: &&Capability| (capability.is_granted)(grants) && !imported(capability.interfaces[0]);
    capability::ALL.into_iter().filter(is_unused).map(|capability| capability.form.key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::dirs::DirGrant;
    use crate::capability::retention::RetentionGrant;

    fn imports(names: &[&str]) -> Vec<Import> {
        names.iter().map(|name| Import { name: (*name).to_owned(), class: ImportClass::Granted }).collect()
    }

    #[test]
    fn a_grant_is_of_use_where_its_interface_is_imported() {
        let dir = DirGrant { guest_path: "/data".to_owned(), host_path: "/srv".to_owned(), writable: false };
        let two = Grants { retention: Some(RetentionGrant { min_days: 1 }), dirs: vec![dir], ..Grants::default() };
        assert_eq!(unused_grants(&[], &two), ["retention", "dirs"]);
        let used = ["workhost:handler/retention@0.1.0", "wasi:filesystem/types@0.2.6"];
        assert!(unused_grants(&imports(&used), &two).is_empty());
        assert_eq!(unused_grants(&imports(&used[..1]), &two), ["dirs"]);
        assert!(unused_grants(&[], &Grants::default()).is_empty());
        let files = InterfaceName::parse(used[1]);
        assert_eq!(classify(&files, &two), Ok(ImportClass::Granted));
        assert_eq!(classify(&files, &Grants::default()), Ok(ImportClass::Inert));
    }

    #[test]
    fn every_capability_is_of_use_by_its_own_interface_and_lets_in_nothing_else() {
        for capability in capability::ALL {
            let used: Vec<&str> = capability.interfaces.to_vec();
            for interface in &used {
                assert_eq!(capability::of(interface).map(|of| of.form.key), Some(capability.form.key), "{interface}");
            }
            assert!(!(capability.is_granted)(&Grants::default()), "{}", capability.form.key);
            assert!(capability.form.table().starts_with('['), "{}", capability.form.toml);
            assert!(capability.form.toml.contains(capability.form.key), "{}", capability.form.toml);
        }
    }
}
