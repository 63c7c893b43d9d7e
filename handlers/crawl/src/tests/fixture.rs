//! A folder, a database, and crawls from the one into the other.

use std::fs;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use workhost_sdk::sql::Value;
use workhost_sdk::testing::sqlite::Database;
use workhost_sdk::testing::{Host, Ran};
use workhost_sdk::{Ending, Failure, Handler, StopReason, Work};

use crate::progress::Summary;
use crate::tree::Root;

/// The handler, but for a folder that the payload names.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Here {
    path: PathBuf,
    #[serde(default)]
    broken: Vec<String>,
}

impl Handler for Here {
    const KIND: &'static str = "crawl";
    const SUMMARY: &'static str = "";
    type Summary = Summary;

    fn run(self, work: &Work) -> Result<Ending<Summary>, Failure> {
        let root = self.broken.iter().fold(Root::at(self.path), |root, path| root.but_broken(path));
        crate::crawl::crawl(&root, work)
    }
}

pub(crate) struct Fixture {
    pub(crate) database: Database,
    pub(crate) scope: &'static str,
    /// Paths that cannot be read.
    pub(crate) broken: Vec<String>,
    folder: tempfile::TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let database = Database::new(include_str!("../../schema.sqlite.sql"), include_str!("../../statements.toml"));
        Fixture { database, scope: "one", broken: Vec::new(), folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        let path = self.path(path);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }

    /// Crawls to the end and answers the summary.
    pub(crate) fn run(&self) -> Json {
        match self.attempt(None, u32::MAX).ending {
            Ok(Ending::Done(summary)) => summary,
            other => panic!("the crawl ended otherwise: {other:?}"),
        }
    }

    /// One attempt, which is asked to stop after it has asked so many times whether to.
    pub(crate) fn attempt(&self, resume_from: Option<&Json>, patience: u32) -> Ran {
        let mut asked = 0;
        let host = Host::new().scope(self.scope).execute(self.database.answers()).stop(move || {
            asked += 1;
            (asked > patience).then_some(StopReason::Shutdown)
        });
        let host = match resume_from {
            Some(progress) => host.resume_from(progress.clone()),
            None => host,
        };
        host.run::<Here>(&json!({ "path": self.path(""), "broken": self.broken }).to_string())
    }

    /// All recorded paths, sorted.
    pub(crate) fn paths(&self) -> Vec<String> {
        let rows = self.database.rows("select path from crawled_files order by path");
        let text = |row: Vec<Value>| match &row[0] {
            Value::Text(path) => path.clone(),
            other => panic!("a path is text: {other:?}"),
        };
        rows.into_iter().map(text).collect()
    }
}

/// The start of a PNG file of this size, in pixels.
pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes
}
