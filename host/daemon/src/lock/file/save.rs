//! Writing a lock: whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::super::Lock;
use super::text::{self, HEADER};
use super::{MAX_BYTES, toml_text};
use crate::config::Source;
use crate::finding::Finding;

/// Writes a lock where it differs from what is there; answers whether it did.
///
/// # Errors
/// A finding about the file: it cannot be written, or there is something else than a lock.
pub fn write(path: &Path, lock: &Lock) -> Result<bool, Box<Finding>> {
    write_within(MAX_BYTES, path, lock)
}

fn write_within(most: u64, path: &Path, lock: &Lock) -> Result<bool, Box<Finding>> {
    let unwritable = |problem: String, mend: &str| {
        Box::new(Source::new(path, String::new()).finding("lock-unwritable", &[], problem, Some(mend.to_owned())))
    };
    let text = text::of(lock);
    if text.len() as u64 > most {
        let problem = format!("would have {} bytes; the most is {most}", text.len());
        return Err(unwritable(problem, "have the components describe their payloads with smaller schemas"));
    }
    match toml_text::read(path, most) {
        Ok(there) if there.text() == text => return Ok(false),
        Ok(there) if !there.text().is_empty() && !there.text().starts_with(HEADER) => {
            let mend = "if it may go, delete it; else give the configuration another name, which names its lock, too";
            return Err(unwritable("is there, and no lock of workhost; it is not written over".into(), mend));
        }
        // What cannot be read is told by the attempt to replace it.
        _ => {}
    }
    replace(path, &text).map(|()| true).map_err(|error| {
        unwritable(format!("cannot be written: {error}"), "make its folder writable and leave room for the file")
    })
}

/// Puts a new file in the place of the old one, which whoever reads meanwhile sees whole.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let new = beside(path);
    let written = File::create(&new).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&new, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&new);
    }
    replaced
}

/// A name in the same folder that no other process uses.
fn beside(path: &Path) -> PathBuf {
    path.with_added_extension(format!("new-{}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_would_be_too_large_to_read_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let (path, lock) = (folder.path().join("workhost.lock"), Lock::default());
        let bytes = text::of(&lock).len() as u64;
        assert!(write_within(bytes - 1, &path, &lock).unwrap_err().problem.contains("the most is"));
        assert!(!path.exists());
        assert!(write_within(bytes, &path, &lock).unwrap());
        assert!(!write_within(bytes, &path, &lock).unwrap(), "it is there already");
    }
}
