//! The `retention` capability: deletion of finished work items.

use crate::{Failure, host};

/// Deletes one bounded batch of items that finished more than this many days ago, and answers how many.
/// Call it again until it answers 0.
///
/// # Errors
/// Days below the grant's `min_days`, or trouble with the store.
pub fn delete_finished(older_than_days: u32) -> Result<u64, Failure> {
    host::delete_finished(older_than_days).map_err(Failure::new)
}
