//! The one trait that an author implements.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Ending, Failure, Work};

/// A work kind and how to run one item of it. The type itself is the payload.
///
/// Each attempt runs in a sandbox of its own: statics start afresh, and nothing in memory outlives it.
/// What an attempt has done may be done again by a later one, so make effects that may be repeated.
pub trait Handler: DeserializeOwned + JsonSchema {
    /// The kind's name, as the catalogue declares it.
    const KIND: &'static str;
    /// One sentence for people: what an item of this kind does.
    const SUMMARY: &'static str;
    /// What a run tells when it ends.
    type Summary: Serialize;

    /// Runs one item.
    ///
    /// # Errors
    /// A [`Failure`] is recorded as the item's error.
    fn run(self, work: &Work) -> Result<Ending<Self::Summary>, Failure>;
}
