//! The granted folder: the few things that a crawl does with it, through WASI or, in tests, natively.

use std::fmt;

#[cfg(not(target_family = "wasm"))]
mod native;
#[cfg(target_family = "wasm")]
mod wasi;

#[cfg(not(target_family = "wasm"))]
pub(crate) use native::{File, Folder, Root};
#[cfg(target_family = "wasm")]
pub(crate) use wasi::{File, Folder, Root};

/// Where a component finds the folder that its scope was granted.
#[cfg(target_family = "wasm")]
const GUEST_PATH: &str = "/scope";

/// Why a folder or a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It is not there, or something else is there by now.
    Gone,
    /// It is there. The reason is for people.
    Unreadable(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Trouble::Gone => "it is not there",
            Trouble::Unreadable(reason) => reason,
        })
    }
}

/// What an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    /// A FIFO, socket or device. To open one may wait for ever.
    Special,
}

/// The entries of a folder; the names sorted by their bytes.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) files: Vec<String>,
    pub(crate) folders: Vec<String>,
    pub(crate) links: Vec<String>,
    /// How many FIFOs, sockets and devices.
    pub(crate) special: u64,
    /// How many entries with a name that is not UTF-8. A sandbox gives an error in their place.
    pub(crate) nameless: u64,
    /// How many entries whose kind could not be read, the names unknown.
    pub(crate) unreadable: u64,
    /// How many entries that were gone before their kind was read.
    pub(crate) vanished: u64,
}

impl Listing {
    fn add(&mut self, kind: Kind, name: String) {
        match kind {
            Kind::File => self.files.push(name),
            Kind::Folder => self.folders.push(name),
            Kind::Link => self.links.push(name),
            Kind::Special => self.special += 1,
        }
    }

    fn sorted(mut self) -> Self {
        for names in [&mut self.files, &mut self.folders, &mut self.links] {
            names.sort_unstable();
        }
        self
    }
}
