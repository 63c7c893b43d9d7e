//! The `secrets` capability: passwords, keys and tokens of this handler.

use crate::{Failure, host};

/// The secret of this name.
///
/// The host masks it in what the handler prints, logs and fails with, as long as its spelling is unchanged. It does not mask
/// results and progress: do not put it there.
///
/// # Errors
/// None of this name is granted. Trying again cannot help.
pub fn get(name: &str) -> Result<String, Failure> {
    let missing = || Failure::permanent(format!("secret `{name}` is not granted: add it to [handlers.secrets]"));
    host::secret(name).ok_or_else(missing)
}
