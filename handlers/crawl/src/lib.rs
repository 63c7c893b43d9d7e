//! The handler of kind `crawl`: keeps a record of the files in the folder that its scope was granted.
//!
//! One crawl is mark and sweep. Each folder and file that is met is recorded under the crawl's mark; at the
//! end, what still carries another mark is gone, unless it lies where something could not be read. The walk
//! goes in one fixed order, so that a place in it is a cursor, and a later attempt goes on from there.

mod counts;
mod crawl;
mod cursor;
mod image;
mod links;
mod progress;
mod read;
mod record;
#[cfg(test)]
mod tests;
mod tree;
mod walk;

use schemars::JsonSchema;
use serde::Deserialize;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

use crate::progress::Summary;
use crate::tree::Root;

/// Records the files of the folder that the item's scope was granted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Crawl {}

impl Handler for Crawl {
    const KIND: &'static str = "crawl";
    const SUMMARY: &'static str = "Records the files of a scope's folder in the application's database.";
    type Summary = Summary;

    fn run(self, work: &Work) -> Result<Ending<Summary>, Failure> {
        let root = Root::granted().map_err(Failure::permanent)?;
        crawl::crawl(&root, work)
    }
}

export_handlers!(Crawl);
