//! Reads one file.

use sha2::{Digest, Sha256};
use workhost_sdk::Timestamp;

use crate::image::{self, Picture};
use crate::tree::{Folder, Trouble};

/// How much is read at once, in bytes; a host may give less. Between two chunks a crawl can stop.
pub(crate) const CHUNK: u64 = 256 << 10;

/// What was read of a file. If it changes meanwhile, this is what was read, and the next crawl reads it
/// anew.
#[derive(Debug)]
pub(crate) struct Content {
    /// Bytes read.
    pub(crate) size: u64,
    /// When it was last modified, as said before the first byte was read; none for times before 1970.
    pub(crate) modified: Option<Timestamp>,
    /// Lower-case hexadecimal.
    pub(crate) sha256: String,
    /// What it shows.
    pub(crate) picture: Picture,
}

/// Reads a file to its end, unless `stop` says so between two chunks: then the answer is none.
pub(crate) fn read(folder: &Folder, name: &str, stop: impl Fn() -> bool) -> Result<Option<Content>, Trouble> {
    let file = folder.open(name)?;
    let modified = file.modified();
    let mut hash = Sha256::new();
    let mut size = 0;
    let mut head = Vec::new();
    loop {
        if stop() {
            return Ok(None);
        }
        let chunk = file.read(size, CHUNK)?;
        if chunk.is_empty() {
            break;
        }
        hash.update(&chunk);
        if size == 0 {
            head = chunk.clone();
        }
        size += chunk.len() as u64;
    }
    let picture = image::look(name, &head, &file);
    Ok(Some(Content { size, modified, sha256: hex::encode(hash.finalize()), picture }))
}
