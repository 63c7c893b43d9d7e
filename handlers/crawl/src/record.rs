//! The statements that keep the record. Their text is in statements.toml, the tables in schema.*.sql.

use sha2::{Digest, Sha256};
use workhost_sdk::sql::{self, Error, Value};

use crate::image::Picture;
use crate::read::Content;

/// The record of one scope, written under the mark of one crawl.
#[derive(Debug)]
pub(crate) struct Record {
    /// The scope.
    pub(crate) scope: String,
    /// The crawl's mark.
    pub(crate) crawl: i64,
}

impl Record {
    /// Records a folder, and how many of its entries cannot be read.
    pub(crate) fn folder(&self, folder: &str, unreadable: u64) -> Result<(), Error> {
        let parent = parent(folder).map(key);
        let unreadable = integer(unreadable);
        let params = [
            self.scope.as_str().into(),
            key(folder).into(),
            parent.into(),
            folder.into(),
            unreadable,
            self.crawl.into(),
        ];
        sql::execute("record-folder", &params).map(drop)
    }

    /// One more entry of a recorded folder cannot be read: the folder loses no rows in this crawl.
    pub(crate) fn unreadable_entry(&self, folder: &str) -> Result<(), Error> {
        let params = [self.scope.as_str().into(), key(folder).into()];
        sql::execute("count-unreadable", &params).map(drop)
    }

    /// Records a file of a recorded folder.
    pub(crate) fn file(&self, folder: &str, name: &str, content: &Content) -> Result<(), Error> {
        let (width, height) = match content.picture {
            Picture::Sized { width, height } => (Some(width), Some(height)),
            Picture::None | Picture::Broken => (None, None),
        };
        let params = [
            self.scope.as_str().into(),
            key(folder).into(),
            name.into(),
            integer(content.size),
            content.modified.into(),
            content.sha256.as_str().into(),
            width.into(),
            height.into(),
            self.crawl.into(),
        ];
        sql::execute("record-file", &params).map(drop)
    }

    /// Removes a bounded number of files that are gone, and answers how many: 0 when none is left.
    pub(crate) fn forget_gone_files(&self) -> Result<u64, Error> {
        sql::execute("forget-gone-files", &self.marked())
    }

    /// Removes the folders that are gone. Only after the last file: a gone folder is what tells that
    /// its files are.
    pub(crate) fn forget_gone_folders(&self) -> Result<(), Error> {
        sql::execute("forget-gone-folders", &self.marked()).map(drop)
    }

    fn marked(&self) -> [Value; 2] {
        [self.scope.as_str().into(), self.crawl.into()]
    }
}

/// What identifies a folder in the tables. A path may be longer than a database's index takes; its
/// SHA-256 is not.
fn key(folder: &str) -> String {
    hex::encode(Sha256::digest(folder))
}

/// The folder that holds this one; none for the granted folder.
pub(crate) fn parent(folder: &str) -> Option<&str> {
    match folder.rsplit_once('/') {
        Some((parent, _)) => Some(parent),
        None if folder.is_empty() => None,
        None => Some(""),
    }
}

fn integer(count: u64) -> Value {
    i64::try_from(count).unwrap_or(i64::MAX).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_granted_folder_alone_has_no_parent() {
        assert_eq!(parent("a/b/c"), Some("a/b"));
        assert_eq!(parent("a"), Some(""));
        assert_eq!(parent(""), None);
    }
}
