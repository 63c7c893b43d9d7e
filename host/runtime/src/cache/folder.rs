//! A cache's folder: open, and known to be ours alone to write.
//!
//! Files are reached through the open folder, so that nobody who may write one of its parents can put another in
//! its place after it was looked at.

use std::fs::{DirBuilder, File, Metadata};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::Unusable;

/// What the name of a file begins with while it is being written.
pub(super) const UNFINISHED: &str = "unfinished-";

/// Never follow a link, never wait for the other end of a FIFO.
const CAREFUL: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

pub(super) struct Folder {
    open: OwnedFd,
    path: PathBuf,
}

/// A file that was read whole.
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    file: File,
    mode: u32,
}

/// A file in the folder, as it is listed.
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) bytes: u64,
    /// Seconds since 1970.
    pub(super) modified: i64,
}

impl Folder {
    /// Opens the folder, and makes it where it is missing.
    pub(super) fn open(path: &Path) -> Result<Folder, Unusable> {
        let shown = path.display();
        let failed = |error: io::Error| {
            let reason = match error.kind() {
                // Said while it is made, and only of what is no folder.
                ErrorKind::AlreadyExists => "a file of this name is in its place".to_owned(),
                _ => error.to_string(),
            };
            Unusable {
                problem: format!("the folder {shown} cannot be used: {reason}"),
                mend: "name a folder that workhost may write in the configuration, or turn the cache off",
            }
        };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let flags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
        let open = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
        // Through a `File`, whose metadata std reads; then the folder's again.
        let file = File::from(open);
        match whose(&file.metadata().map_err(failed)?) {
            Whose::Ours => Ok(Folder { open: file.into(), path: path.to_owned() }),
            Whose::OthersMayWrite => Err(Unusable {
                problem: format!("others may write the folder {shown}, and so give the host code to run"),
                mend: "`chmod 700` the folder, or name another",
            }),
            Whose::Others => Err(Unusable {
                problem: format!("the folder {shown} belongs to another account than the one that workhost runs as"),
                mend: "name a folder of its own in the configuration, or turn the cache off",
            }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The content of a file of at most `limit` bytes that is ours alone to write; `None` where there is none.
    pub(super) fn read(&self, name: &str, limit: u64) -> Result<Option<Content>, String> {
        let opened = rustix::fs::openat(&self.open, name, OFlags::RDONLY.union(CAREFUL), Mode::empty());
        let mut file = match opened {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(format!("it cannot be opened: {error}")),
        };
        let failed = |error: io::Error| format!("it cannot be read: {error}");
        let meta = file.metadata().map_err(failed)?;
        if !meta.is_file() {
            return Err("it is not a file".into());
        }
        match whose(&meta) {
            Whose::Ours => {}
            Whose::OthersMayWrite => return Err("others may write it".into()),
            Whose::Others => return Err("it belongs to another account".into()),
        }
        let mut bytes = Vec::new();
        (&mut file).take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > limit {
            return Err(format!("it is larger than {limit} bytes"));
        }
        Ok(Some(Content { bytes, file, mode: meta.mode() }))
    }

    /// Writes a file whole or not at all, in place of the one that there may be.
    pub(super) fn write(&self, name: &str, content: &[&[u8]]) -> io::Result<()> {
        let unfinished = self.unfinished(content, false)?;
        let moved = rustix::fs::renameat(&self.open, &unfinished, &self.open, name);
        if moved.is_err() {
            let _ = self.remove(&unfinished);
        }
        Ok(moved?)
    }

    /// The same where there is no such file yet. One that is there already stays.
    pub(super) fn write_first(&self, name: &str, content: &[u8]) -> io::Result<()> {
        // Synced: a file that a power cut emptied would stay so.
        let unfinished = self.unfinished(&[content], true)?;
        let linked = rustix::fs::linkat(&self.open, &unfinished, &self.open, name, AtFlags::empty());
        let _ = self.remove(&unfinished);
        match linked {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a file under a name that no other has, and answers the name.
    fn unfinished(&self, content: &[&[u8]], sync: bool) -> io::Result<String> {
        let name = format!("{UNFINISHED}{:016x}", rand::random::<u64>());
        let flags = CAREFUL.union(OFlags::WRONLY).union(OFlags::CREATE).union(OFlags::EXCL);
        let mut file = File::from(rustix::fs::openat(&self.open, &name, flags, Mode::RUSR.union(Mode::WUSR))?);
        let mut written = content.iter().try_for_each(|part| file.write_all(part));
        if sync {
            written = written.and_then(|()| file.sync_all());
        }
        match written {
            Ok(()) => Ok(name),
            Err(error) => {
                let _ = self.remove(&name);
                Err(error)
            }
        }
    }

    /// The regular files in it. One that vanishes meanwhile is left out.
    pub(super) fn list(&self) -> io::Result<Vec<Listed>> {
        let mut listed = Vec::new();
        for entry in Dir::read_from(&self.open)? {
            let entry = entry?;
            // The names of our own files are ASCII.
            let Ok(name) = entry.file_name().to_str() else { continue };
            let Ok(stat) = rustix::fs::statat(&self.open, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if !FileType::from_raw_mode(stat.st_mode).is_file() {
                continue;
            }
            let bytes = u64::try_from(stat.st_size).unwrap_or(0);
            listed.push(Listed { name: name.to_owned(), bytes, modified: stat.st_mtime });
        }
        Ok(listed)
    }

    /// Removes a file. That it is gone already is fine: another process may prune, too.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.open, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Content {
    pub(super) fn is_readable_by_others(&self) -> bool {
        self.mode & 0o077 != 0
    }

    /// Keeps it from being pruned soon. Where that cannot be written nothing is pruned either.
    pub(super) fn mark_used(&self) {
        let _ = self.file.set_modified(SystemTime::now());
    }
}

/// Who owns and may write a file or folder.
enum Whose {
    Ours,
    OthersMayWrite,
    Others,
}

fn whose(meta: &Metadata) -> Whose {
    if meta.uid() != rustix::process::geteuid().as_raw() {
        Whose::Others
    } else if meta.mode() & 0o022 != 0 {
        Whose::OthersMayWrite
    } else {
        Whose::Ours
    }
}
