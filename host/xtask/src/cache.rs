//! Where things live that are worth keeping between clones.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::process::{is_root, say};

/// A folder below the user's cache that one process at a time may fill.
///
/// The lock is held until the value is dropped, also when the process is killed.
pub(crate) struct Locked {
    folder: PathBuf,
    _lock: File,
}

impl Locked {
    /// Opens `<cache>/<name>`, waiting while another process fills it.
    ///
    /// # Errors
    /// When no cache folder is known, or it cannot be written.
    pub(crate) fn open(name: &str) -> Result<Self> {
        Self::open_at(root()?.join(name))
    }

    /// As [`Locked::open`], for what another account has to reach: root's own folder is closed to
    /// everyone else, so that root keeps such things in the system's cache.
    ///
    /// # Errors
    /// As [`Locked::open`].
    pub(crate) fn open_for_all(name: &str) -> Result<Self> {
        if is_root()? { Self::open_at(Path::new("/var/cache/workhost").join(name)) } else { Self::open(name) }
    }

    fn open_at(folder: PathBuf) -> Result<Self> {
        fs::create_dir_all(&folder).with_context(|| format!("cannot create the cache folder {}", folder.display()))?;
        let lock = File::create(folder.join("lock"))
            .with_context(|| format!("cannot write into the cache folder {}", folder.display()))?;
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            say(&format!("waiting for another run that fills {}", folder.display()));
            lock.lock()?;
        }
        Ok(Self { folder, _lock: lock })
    }

    /// The folder, which exists.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A fresh folder for work in progress, on the same file system as the finished things.
    ///
    /// What a killed run left is removed first: the lock says that nobody else is at work.
    ///
    /// # Errors
    /// When the folder cannot be removed or created.
    pub(crate) fn workshop(&self) -> Result<tempfile::TempDir> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                fs::remove_dir_all(entry.path())
                    .with_context(|| format!("cannot remove {}", entry.path().display()))?;
            }
        }
        Ok(tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&self.folder)?)
    }
}

/// How the names of unfinished folders begin.
const UNFINISHED: &str = "unfinished-";

/// `$WORKHOST_CACHE`, else `workhost` in the user's cache folder: outside the clone, so that the
/// next clone finds what this one has built.
fn root() -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let root = match (set("WORKHOST_CACHE"), set("XDG_CACHE_HOME"), set("HOME")) {
        (Some(cache), _, _) => cache,
        (None, Some(caches), _) => caches.join("workhost"),
        (None, None, Some(home)) => home.join(".cache/workhost"),
        (None, None, None) => bail!("no folder to build in is known\nhint: set WORKHOST_CACHE to one"),
    };
    std::path::absolute(&root).with_context(|| format!("cannot resolve {}", root.display()))
}
