//! `dirs`: folders of the host that a handler sees, opened anew for each attempt.

use std::path::{Path, PathBuf};

use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

use crate::error::LoadError;

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

/// Whether the folders are there, as far as they can be known before there is a scope.
pub(crate) fn check(grants: &[DirGrant]) -> Result<(), LoadError> {
    for (number, grant) in grants.iter().enumerate() {
        let wrong = |folder: &str, reason: String| Err(LoadError::Folder { folder: folder.into(), reason });
        if !grant.guest_path.starts_with('/') {
            return wrong(&grant.guest_path, "a guest's path begins with `/`".into());
        }
        if grants[..number].iter().any(|other| other.guest_path == grant.guest_path) {
            return wrong(&grant.guest_path, "two grants have this guest's path".into());
        }
        let segments = segments(&grant.host_path);
        if segments.iter().any(|segment| segment != SCOPE && segment.contains(SCOPE)) {
            return wrong(&grant.host_path, format!("`{SCOPE}` must be a whole segment of the path"));
        }
        let fixed = match segments.iter().position(|segment| segment == SCOPE) {
            // What comes before the scope must be there; the rest may come and go with the scopes.
            Some(scope) => segments[..scope].iter().collect::<PathBuf>(),
            None => PathBuf::from(&grant.host_path),
        };
        let fixed = if fixed.as_os_str().is_empty() { PathBuf::from(".") } else { fixed };
        match std::fs::metadata(&fixed) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return wrong(&fixed.to_string_lossy(), "is not a folder".into()),
            Err(error) => return wrong(&fixed.to_string_lossy(), error.to_string()),
        }
    }
    Ok(())
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
        for scope in ["", ".", "..", "a/b", "../a", "/etc", "a\\b", "a\0b"] {
            assert!(host_path(&grant, Some(scope)).is_err(), "{scope:?}");
        }
        assert!(host_path(&grant, None).unwrap_err().contains("no scope"));
    }

    #[test]
    fn a_folder_that_is_missing_is_found_before_anything_runs() {
        let dir = tempfile::tempdir().unwrap();
        let path = |tail: &str| format!("{}/{tail}", dir.path().display());
        std::fs::write(path("file"), "").unwrap();
        check(&[grant(&path(""))]).unwrap();
        check(&[grant(&path("{scope}/x"))]).unwrap();
        for wrong in ["gone", "gone/{scope}", "file", "a{scope}"] {
            assert!(check(&[grant(&path(wrong))]).is_err(), "{wrong}");
        }
        assert!(check(&[grant(&path("")), grant(&path(""))]).unwrap_err().to_string().contains("two grants"));
        assert!(check(&[DirGrant { guest_path: "data".into(), ..grant(&path("")) }]).is_err());
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
