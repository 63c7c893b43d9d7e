//! The granted folder through `wasi:filesystem` itself.
//!
//! Not through `std::fs`: its listing of a folder ends at the first entry whose name is not UTF-8, and the
//! rest of the folder would be lost. Nor does it open a file without following a link.

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorType, DirectoryEntry, ErrorCode, OpenFlags, PathFlags,
};
use workhost_sdk::Timestamp;

use super::{GUEST_PATH, Kind, Listing, Trouble};
use crate::links::Target;

/// The longest path that is opened in one step, in bytes. Systems refuse longer ones (Linux: 4,096), while
/// trees may be deeper.
const MAX_STEP: usize = 2048;

/// The granted folder.
#[derive(Debug)]
pub(crate) struct Root(Descriptor);

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder(Descriptor);

/// An open file.
#[derive(Debug)]
pub(crate) struct File(Descriptor);

impl Root {
    /// The folder that this item's scope was granted.
    pub(crate) fn granted() -> Result<Self, String> {
        get_directories()
            .into_iter()
            .find(|(_, path)| path == GUEST_PATH)
            .map(|(descriptor, _)| Root(descriptor))
            .ok_or_else(|| format!("no folder was granted as `{GUEST_PATH}`"))
    }

    /// Opens a folder in it; the empty path is the granted folder itself.
    pub(crate) fn folder(&self, path: &str) -> Result<Folder, Trouble> {
        let mut folder = open_folder(&self.0, ".")?;
        let mut rest = path;
        while !rest.is_empty() {
            let step = first_step(rest);
            folder = open_folder(&folder, step)?;
            rest = rest[step.len()..].trim_start_matches('/');
        }
        Ok(Folder(folder))
    }

    /// What a symbolic link says.
    pub(crate) fn link_text(&self, path: &str) -> Option<String> {
        self.0.readlink_at(path).ok()
    }

    /// What is met by going where a symbolic link leads.
    pub(crate) fn target(&self, path: &str) -> Target {
        match self.0.stat_at(PathFlags::SYMLINK_FOLLOW, path) {
            // A time that cannot be told is the time of something.
            Ok(_) | Err(ErrorCode::Overflow) => Target::There,
            Err(ErrorCode::NoEntry | ErrorCode::NotDirectory) => Target::Missing,
            Err(ErrorCode::NotPermitted) => Target::Outside,
            Err(ErrorCode::Loop) => Target::Loop,
            Err(_) => Target::Unknown,
        }
    }
}

impl Folder {
    /// Reads all its entries.
    pub(crate) fn list(&self) -> Result<Listing, Trouble> {
        let entries = self.0.read_directory()?;
        let mut listing = Listing::default();
        loop {
            match entries.read_directory_entry() {
                Ok(None) => return Ok(listing.sorted()),
                Ok(Some(DirectoryEntry { type_, name })) => listing.add(kind(type_), name),
                Err(ErrorCode::IllegalByteSequence) => listing.nameless += 1,
                Err(ErrorCode::NoEntry) => listing.vanished += 1,
                Err(_) => listing.unreadable += 1,
            }
        }
    }

    /// Opens a file in it.
    pub(crate) fn open(&self, name: &str) -> Result<File, Trouble> {
        let file = self.0.open_at(PathFlags::empty(), name, OpenFlags::empty(), DescriptorFlags::READ)?;
        Ok(File(file))
    }
}

impl File {
    /// When it was last modified; none if that lies before 1970, or is not told.
    pub(crate) fn modified(&self) -> Option<Timestamp> {
        let time = self.0.stat().ok()?.data_modification_timestamp?;
        let seconds = i64::try_from(time.seconds).ok()?.checked_mul(1_000_000)?;
        Some(Timestamp::from_micros(seconds.checked_add(i64::from(time.nanoseconds / 1000))?))
    }

    /// Reads up to so many bytes from an offset; none are left where it answers none.
    pub(crate) fn read(&self, offset: u64, length: u64) -> Result<Vec<u8>, Trouble> {
        Ok(self.0.read(length, offset)?.0)
    }
}

fn open_folder(folder: &Descriptor, path: &str) -> Result<Descriptor, ErrorCode> {
    folder.open_at(PathFlags::empty(), path, OpenFlags::DIRECTORY, DescriptorFlags::READ)
}

/// The first names of a path that make one step; at least one name, however long.
fn first_step(path: &str) -> &str {
    if path.len() <= MAX_STEP {
        return path;
    }
    let bytes = path.as_bytes();
    let end = bytes[..MAX_STEP].iter().rposition(|byte| *byte == b'/');
    let end = end.or_else(|| bytes.iter().position(|byte| *byte == b'/')).unwrap_or(path.len());
    &path[..end]
}

fn kind(kind: DescriptorType) -> Kind {
    match kind {
        DescriptorType::RegularFile => Kind::File,
        DescriptorType::Directory => Kind::Folder,
        DescriptorType::SymbolicLink => Kind::Link,
        _ => Kind::Special,
    }
}

impl From<ErrorCode> for Trouble {
    fn from(error: ErrorCode) -> Self {
        match error {
            // The last three: a link, or a folder, took the place of what was listed.
            ErrorCode::NoEntry
            | ErrorCode::NotDirectory
            | ErrorCode::Loop
            | ErrorCode::IsDirectory
            | ErrorCode::BadDescriptor => Trouble::Gone,
            ErrorCode::Access | ErrorCode::NotPermitted => Trouble::Unreadable("permission denied".to_owned()),
            error => Trouble::Unreadable(error.name().to_owned()),
        }
    }
}
