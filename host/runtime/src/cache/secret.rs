//! The secret of a cache folder: who knows it can write entries that are believed.

use rand::TryRng;
use rand::rngs::SysRng;

use super::Unusable;
use super::folder::Folder;

const NAME: &str = "secret";

const BYTES: usize = 32;

/// 32 random bytes in a file that nobody but its owner may read. Not `Debug`: it stays out of logs.
pub(super) struct Secret([u8; BYTES]);

impl Secret {
    /// The folder's secret; made where there is none yet.
    pub(super) fn of(folder: &Folder) -> Result<Secret, Unusable> {
        if let Some(secret) = read(folder)? {
            return Ok(secret);
        }
        make(folder).map_err(|problem| Unusable {
            problem: format!("its secret cannot be written to {}: {problem}", folder.path().display()),
            mend: "make the folder writable for workhost, name another in the configuration, or turn the cache off",
        })?;
        // Read back, because another process may have been the first.
        read(folder)?.ok_or_else(|| Unusable {
            problem: format!("its secret vanished from {}", folder.path().display()),
            mend: "start again",
        })
    }

    pub(super) fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }
}

fn read(folder: &Folder) -> Result<Option<Secret>, Unusable> {
    let unusable = |problem: &str| Unusable {
        problem: format!("the secret in {}: {problem}", folder.path().display()),
        mend: "delete the folder; it is made anew",
    };
    let Some(file) = folder.read(NAME, BYTES as u64).map_err(|problem| unusable(&problem))? else { return Ok(None) };
    if file.is_readable_by_others() {
        return Err(unusable("others may read it"));
    }
    let bytes = file.bytes.try_into().map_err(|_| unusable("it is cut off"))?;
    Ok(Some(Secret(bytes)))
}

fn make(folder: &Folder) -> Result<(), String> {
    let mut bytes = [0; BYTES];
    SysRng.try_fill_bytes(&mut bytes).map_err(|error| error.to_string())?;
    folder.write_first(NAME, &bytes).map_err(|error| error.to_string())
}
