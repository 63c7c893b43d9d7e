//! One serving process per file.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use crate::{QueueError, Result, Serving};

/// Locks `<file>.lock` and writes into it who serves. The system gives the lock back when the process ends,
/// however it ends; the file itself stays.
pub(super) fn serve(path: &Path, host: &str) -> Result<Serving> {
    let mut name = OsString::from(path);
    name.push(".lock");
    let trouble = |error: std::io::Error| QueueError::Unusable {
        reason: format!("the lock file {} cannot be used: {error}", Path::new(&name).display()),
    };
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&name).map_err(trouble)?;
    match file.try_lock() {
        Ok(()) => write_holder(&mut file, host).map_err(trouble)?,
        Err(TryLockError::WouldBlock) => {
            return Err(QueueError::Held { what: format!("the store {}", path.display()), holder: holder(&mut file) });
        }
        Err(TryLockError::Error(error)) => return Err(trouble(error)),
    }
    Ok(Serving { _lock: Some(file) })
}

fn write_holder(file: &mut File, host: &str) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {} (host {host})", std::process::id())
}

/// Who serves the file, in words.
fn holder(file: &mut File) -> String {
    let mut words = String::new();
    match file.read_to_string(&mut words) {
        Ok(_) if !words.trim().is_empty() => words.trim().to_owned(),
        _ => "another process".to_owned(),
    }
}
