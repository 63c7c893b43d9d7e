//! What people see, and what a later attempt goes on from.

use serde::{Deserialize, Serialize};
use workhost_sdk::Timestamp;

use crate::counts::Counts;
use crate::cursor::Cursor;

/// The longest folder path that a snapshot holds, in bytes. Below a longer one no snapshot is told, and a
/// later attempt goes on from the last one before: a snapshot stays small, whatever the names.
const MAX_PATH: usize = 4096;

/// A snapshot of a crawl. The counts belong to the cursor: both say how far the crawl had come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// The crawl's mark: when its first attempt began, in microseconds since 1970. All its attempts
    /// share it, and no two crawls of a scope do.
    pub(crate) crawl: i64,
    /// Files recorded.
    pub(crate) files_done: u64,
    /// Bytes read of those files.
    pub(crate) bytes_done: u64,
    /// The folder that the crawl is in.
    pub(crate) folder: String,
    /// Where a later attempt goes on; none before the granted folder is recorded.
    pub(crate) cursor: Option<Cursor>,
    /// All else that was met.
    pub(crate) counts: Counts,
}

impl Progress {
    /// A new crawl.
    pub(crate) fn start() -> Self {
        Progress {
            crawl: Timestamp::now().as_micros(),
            files_done: 0,
            bytes_done: 0,
            folder: String::new(),
            cursor: None,
            counts: Counts::default(),
        }
    }

    /// The folder is recorded; its files come next.
    pub(crate) fn enter(&mut self, folder: &str) {
        self.go(folder, false);
    }

    /// The folder could not be listed; what comes after all of it is next.
    pub(crate) fn close(&mut self, folder: &str) {
        self.go(folder, true);
    }

    fn go(&mut self, folder: &str, closed: bool) {
        self.folder = folder.to_owned();
        self.cursor = Some(Cursor { folder: folder.to_owned(), file: None, closed });
    }

    /// This file of the folder is done.
    pub(crate) fn pass(&mut self, file: &str) {
        if let Some(cursor) = &mut self.cursor {
            cursor.file = Some(file.to_owned());
        }
    }

    /// Whether the snapshot is small enough to be told.
    pub(crate) fn fits(&self) -> bool {
        self.folder.len() <= MAX_PATH
    }
}

/// What a crawl did, over all its attempts; of a crawl that was stopped, so far.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Files recorded.
    files: u64,
    /// Bytes read of those files.
    bytes: u64,
    #[serde(flatten)]
    counts: Counts,
}

impl From<Progress> for Summary {
    fn from(progress: Progress) -> Self {
        Summary { files: progress.files_done, bytes: progress.bytes_done, counts: progress.counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_told_only_while_its_path_is_short() {
        let mut progress = Progress::start();
        progress.enter(&"d".repeat(MAX_PATH));
        assert!(progress.fits());
        progress.enter(&"d".repeat(MAX_PATH + 1));
        assert!(!progress.fits());
    }
}
