//! The granted folder through `std::fs`, for tests. What WASI alone shows is tested on the component.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use workhost_sdk::Timestamp;

use super::{Kind, Listing, Trouble};
use crate::links::Target;

/// Too many symbolic links. Std has no stable name for it.
const ELOOP: i32 = if cfg!(target_os = "linux") { 40 } else { 62 };

/// The granted folder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Root {
    path: PathBuf,
    /// Paths in it that cannot be read, whoever runs the test.
    broken: HashSet<PathBuf>,
}

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder(Root);

/// An open file.
#[derive(Debug)]
pub(crate) struct File(fs::File);

impl Root {
    /// No folder is granted outside of a sandbox.
    pub(crate) fn granted() -> Result<Self, String> {
        Err("folders are granted to components only".to_owned())
    }

    /// This folder, as if it had been granted.
    #[cfg(test)]
    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Root { path: path.into(), broken: HashSet::new() }
    }

    /// The same, but this path in it cannot be read.
    #[cfg(test)]
    pub(crate) fn but_broken(mut self, path: &str) -> Self {
        self.broken.insert(self.path.join(path));
        self
    }

    /// Opens a folder in it; the empty path is the granted folder itself.
    pub(crate) fn folder(&self, path: &str) -> Result<Folder, Trouble> {
        let path = self.readable(self.path.join(path))?;
        Ok(Folder(Root { path, broken: self.broken.clone() }))
    }

    /// What a symbolic link says.
    pub(crate) fn link_text(&self, path: &str) -> Option<String> {
        fs::read_link(self.path.join(path)).ok()?.into_os_string().into_string().ok()
    }

    /// What is met by going where a symbolic link leads.
    pub(crate) fn target(&self, path: &str) -> Target {
        match self.path.join(path).canonicalize() {
            Ok(target) if target.starts_with(&self.path) => Target::There,
            Ok(_) => Target::Outside,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Target::Missing,
            Err(error) if error.raw_os_error() == Some(ELOOP) => Target::Loop,
            Err(_) => Target::Unknown,
        }
    }

    fn readable(&self, path: PathBuf) -> Result<PathBuf, Trouble> {
        match self.broken.contains(&path) {
            true => Err(Trouble::Unreadable("permission denied".to_owned())),
            false => Ok(path),
        }
    }
}

impl Folder {
    /// Reads all its entries.
    pub(crate) fn list(&self) -> Result<Listing, Trouble> {
        let mut listing = Listing::default();
        for entry in fs::read_dir(&self.0.path)? {
            let entry = entry?;
            let kind = match entry.file_type()? {
                kind if kind.is_file() => Kind::File,
                kind if kind.is_dir() => Kind::Folder,
                kind if kind.is_symlink() => Kind::Link,
                _ => Kind::Special,
            };
            match entry.file_name().into_string() {
                Ok(name) => listing.add(kind, name),
                Err(_) => listing.nameless += 1,
            }
        }
        Ok(listing.sorted())
    }

    /// Opens a file in it.
    pub(crate) fn open(&self, name: &str) -> Result<File, Trouble> {
        Ok(File(fs::File::open(self.0.readable(self.0.path.join(name))?)?))
    }
}

impl File {
    /// When it was last modified; none if that lies before 1970, or is not told.
    pub(crate) fn modified(&self) -> Option<Timestamp> {
        Some(self.0.metadata().ok()?.modified().ok()?.into())
    }

    /// Reads up to so many bytes from an offset; none are left where it answers none.
    pub(crate) fn read(&self, offset: u64, length: u64) -> Result<Vec<u8>, Trouble> {
        let mut file = &self.0;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Trouble::Gone,
            _ => Trouble::Unreadable(error.to_string()),
        }
    }
}
