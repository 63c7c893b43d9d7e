//! What a crawl met.

use serde::{Deserialize, Serialize};

use crate::links::Links;

/// What a crawl met so far, over all its attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Folders whose entries were read.
    pub(crate) folders: u64,
    /// JPEG and PNG files whose width and height were read.
    pub(crate) images: u64,
    /// Files that should be JPEG or PNG, by name or content, but tell no width and height.
    pub(crate) broken_images: u64,
    /// Folders, files and entries that could not be read.
    pub(crate) unreadable: u64,
    /// Entries whose name is not UTF-8, so that a sandbox cannot name them.
    pub(crate) nameless: u64,
    /// Folders and files that were gone when their turn came.
    pub(crate) vanished: u64,
    /// FIFOs, sockets and devices: never opened.
    pub(crate) skipped: u64,
    /// Symbolic links: never followed.
    pub(crate) links: Links,
    /// Rows of files that are gone, removed at the end.
    pub(crate) removed: u64,
}
