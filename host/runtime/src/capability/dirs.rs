//! `dirs`: folders of the host that a handler sees, opened anew for each attempt.

mod plain;
mod tree;

use std::path::{Path, PathBuf};

use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView};
use wasmtime_wasi::p2::bindings::filesystem;
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

use super::{Capability, GrantForm};

use crate::error::LoadError;
use crate::sandbox::State;

pub(crate) const CAPABILITY: Capability = Capability {
    form: GrantForm {
        key: "dirs",
        toml: "  [[handlers.dirs]]\n  guest = \"/…\"                   # where the handler finds it\n  path = \"…\"                     # where it lies; `{scope}` may be a segment of it\n  mode = \"read-only\"             # or \"read-write\"\n",
    },
    interfaces: &["wasi:filesystem/types", "wasi:filesystem/preopens"],
    // Language runtimes drag it in.
    inert: true,
    is_granted: |grants| !grants.dirs.is_empty(),
    link: |linker, interface| match interface {
        "wasi:filesystem/types" => {
            filesystem::types::add_to_linker::<State, WasiFilesystem>(linker, State::filesystem)?;
            plain::add_to_linker(linker)
        }
        _ => filesystem::preopens::add_to_linker::<State, WasiFilesystem>(linker, State::filesystem),
    },
};

/// A segment of a host path that stands for the item's scope.
const SCOPE: &str = "{scope}";

/// One folder that a handler sees. It sees nothing above it, nor through links that lead out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirGrant {
    /// Where the guest finds it: `/data`.
    pub guest_path: String,
    /// Where it lies on the host. A segment may be `{scope}`, so that each scope sees its own folder only.
    pub host_path: String,
    /// Whether the guest may change anything in it.
    pub writable: bool,
}

/// What is wrong with the folders, as far as they can be known before there is a scope.
pub(crate) fn check(grants: &[DirGrant]) -> Vec<LoadError> {
    let wrong = |folder: &str, reason: String| LoadError::Folder { folder: folder.into(), reason };
    let mut errors = Vec::new();
    for (number, grant) in grants.iter().enumerate() {
        if !grant.guest_path.starts_with('/') {
            errors.push(wrong(&grant.guest_path, "a guest's path begins with `/`".into()));
        }
        if grants[..number].iter().any(|other| other.guest_path == grant.guest_path) {
            errors.push(wrong(&grant.guest_path, "two grants have this guest's path".into()));
        }
        errors.extend(missing(&grant.host_path).map(|(folder, reason)| wrong(&folder, reason)));
    }
    let folders = grants.iter().map(|grant| (grant.host_path.as_str(), grant.writable));
    if let Some((one, other)) = tree::both_ways(folders) {
        let (read, written) = if grants[one].writable { (other, one) } else { (one, other) };
        let reason = format!(
            "is granted read-only, and {} in the same tree read-write: the handler could change there what it may only read; grant folders that lie side by side",
            grants[written].host_path
        );
        errors.push(wrong(&grants[read].host_path, reason));
    }
    errors
}

/// What of a granted path is not there, and why.
fn missing(host_path: &str) -> Option<(String, String)> {
    let segments = segments(host_path);
    if segments.iter().any(|segment| segment != SCOPE && segment.contains(SCOPE)) {
        return Some((host_path.into(), format!("`{SCOPE}` must be a whole segment of the path")));
    }
    let fixed = match segments.iter().position(|segment| segment == SCOPE) {
        // What comes before the scope must be there; the rest may come and go with the scopes.
        Some(scope) => segments[..scope].iter().collect::<PathBuf>(),
        None => PathBuf::from(host_path),
    };
    let fixed = if fixed.as_os_str().is_empty() { PathBuf::from(".") } else { fixed };
    let reason = match std::fs::metadata(&fixed) {
        Ok(meta) if meta.is_dir() => return None,
        Ok(_) => "is not a folder".into(),
        Err(error) => error.to_string(),
    };
    Some((fixed.to_string_lossy().into_owned(), reason))
}

/// Why folders are not open.
#[derive(Debug)]
pub(crate) struct NotOpen {
    /// Text for people.
    pub(crate) message: String,
    /// Whether it is the item that cannot have them, now or later.
    pub(crate) permanent: bool,
}

/// A WASI context with the folders opened, for an item of this scope.
pub(crate) async fn open(grants: &[DirGrant], scope: Option<&str>) -> Result<WasiCtxBuilder, NotOpen> {
    let mut wasi = WasiCtxBuilder::new();
    if grants.is_empty() {
        return Ok(wasi);
    }
    let mut folders = Vec::new();
    for grant in grants {
        let path = host_path(grant, scope).map_err(|message| NotOpen { message, permanent: true })?;
        folders.push((path, grant.clone()));
    }
    // Off the async threads, because a network drive can take its time.
    let opening = tokio::task::spawn_blocking(move || {
        // Once more, since a scope's own folder may be a link.
        let real: Vec<_> = folders.iter().map(|(path, grant)| (path.to_string_lossy(), grant.writable)).collect();
        if let Some((one, other)) = tree::both_ways(real.iter().map(|(path, writable)| (&**path, *writable))) {
            let (one, other) = (folders[one].0.display(), folders[other].0.display());
            return Err(format!("folders {one} and {other} lie in one tree, and one of them is granted read-only"));
        }
        for (path, grant) in folders {
            let perms = if grant.writable { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
            wasi.preopened_dir(&path, &grant.guest_path, perms)
                .map_err(|error| format!("folder {} cannot be opened: {}", path.display(), error.root_cause()))?;
        }
        Ok(wasi)
    });
    let opened = opening.await.unwrap_or_else(|panic| Err(format!("folders cannot be opened: {panic}")));
    opened.map_err(|message| NotOpen { message, permanent: false })
}

/// The folder on the host, with the scope put in.
fn host_path(grant: &DirGrant, scope: Option<&str>) -> Result<PathBuf, String> {
    if !segments(&grant.host_path).iter().any(|segment| segment == SCOPE) {
        return Ok(PathBuf::from(&grant.host_path));
    }
    let scope =
        scope.ok_or_else(|| format!("the item has no scope, and folder `{}` is granted by scope", grant.host_path))?;
    if !is_plain(scope) {
        return Err("the item's scope is no plain name of a folder, and a folder is granted by scope".into());
    }
    Ok(segments(&grant.host_path).iter().map(|segment| if segment == SCOPE { scope } else { segment }).collect())
}

/// Whether a scope names one folder, and nothing above, beside or below it.
fn is_plain(scope: &str) -> bool {
    let drive = cfg!(windows) && scope.contains(':');
    !scope.is_empty() && scope != "." && scope != ".." && !drive && !scope.contains(['/', '\\', '\0'])
}

/// The path in parts; the root is one of them.
fn segments(path: &str) -> Vec<String> {
    Path::new(path).components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(host_path: &str) -> DirGrant {
        DirGrant { guest_path: "/data".into(), host_path: host_path.into(), writable: false }
    }

    #[test]
    fn a_scope_fills_its_own_segment_only_and_is_one_plain_name() {
        let grant = grant("/srv/{scope}/files");
        assert_eq!(host_path(&grant, Some("a")).unwrap(), PathBuf::from("/srv/a/files"));
        assert_eq!(host_path(&grant, Some("a:b.c")).is_ok(), cfg!(unix), "an ordinary name, except where drives are");
        for scope in ["", ".", "..", "a/b", "../a", "/etc", "a\\b", "a\0b"] {
            assert!(host_path(&grant, Some(scope)).is_err(), "{scope:?}");
        }
        assert!(host_path(&grant, None).unwrap_err().contains("no scope"));
        let plain = DirGrant { host_path: "/srv/files".into(), ..grant };
        assert_eq!(host_path(&plain, None).unwrap(), PathBuf::from("/srv/files"));
    }

    #[test]
    fn a_folder_that_is_missing_is_found_before_anything_runs() {
        let dir = tempfile::tempdir().unwrap();
        let path = |tail: &str| format!("{}/{tail}", dir.path().display());
        std::fs::write(path("file"), "").unwrap();
        assert!(check(&[grant(&path(""))]).is_empty());
        assert!(check(&[grant(&path("{scope}/x"))]).is_empty());
        for wrong in ["gone", "gone/{scope}", "file", "a{scope}"] {
            assert_eq!(check(&[grant(&path(wrong))]).len(), 1, "{wrong}");
        }
        assert!(check(&[grant(&path("")), grant(&path(""))])[0].to_string().contains("two grants"));
        let relative = DirGrant { guest_path: "data".into(), ..grant(&path("gone")) };
        assert_eq!(check(&[relative]).len(), 2, "all is told at once");
    }

    #[tokio::test]
    async fn what_may_only_be_read_cannot_be_written_by_another_grant() {
        let dir = tempfile::tempdir().unwrap();
        let path = |tail: &str| format!("{}/{tail}", dir.path().display());
        std::fs::create_dir_all(path("a/in")).unwrap();
        std::fs::create_dir_all(path("a/out")).unwrap();
        let written = |tail: &str| DirGrant { guest_path: "/out".into(), writable: true, ..grant(&path(tail)) };
        let errors = check(&[grant(&path("a/in")), written("a")]);
        assert!(errors[0].to_string().contains("in the same tree read-write"), "{errors:?}");
        let apart = [grant(&path("{scope}/in")), written("{scope}/out")];
        assert!(check(&apart).is_empty());
        open(&apart, Some("a")).await.map(drop).unwrap();
        // What is a link for one scope only is found when that scope's folder is opened.
        std::fs::create_dir(path("b")).unwrap();
        std::os::unix::fs::symlink(path("a/in"), path("b/in")).unwrap();
        std::os::unix::fs::symlink(path("a"), path("b/out")).unwrap();
        let error = open(&apart, Some("b")).await.err().unwrap();
        assert!(error.message.contains("in one tree"), "{error:?}");
    }

    #[tokio::test]
    async fn a_scope_without_a_folder_is_told_with_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let grant = grant(&format!("{}/{{scope}}", dir.path().display()));
        let error = open(std::slice::from_ref(&grant), Some("none")).await.err().unwrap();
        assert!(error.message.contains("none cannot be opened") && !error.permanent, "{error:?}");
        let error = open(&[grant], None).await.err().unwrap();
        assert!(error.message.contains("no scope") && error.permanent, "{error:?}");
    }
}
