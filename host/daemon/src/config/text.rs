//! Files of TOML text: reading one, and saying where it is wrong.

use std::path::Path;

use serde::de::DeserializeOwned;
use workhost_runtime::harmless_line;

use super::Source;
use crate::finding::{Finding, Severity};

/// Bytes of what a parser says; 2 KiB. More is nothing that a person reads.
const PROBLEM_BYTES: usize = 2 << 10;

/// Reads a file of at most `most` bytes.
///
/// # Errors
/// Why it cannot be read.
pub(crate) fn read(file: &Path, most: u64) -> Result<Source, String> {
    let failed = |error: std::io::Error| format!("cannot be read: {error}");
    // Looked at before it is opened, because opening a FIFO would wait for a writer.
    let meta = std::fs::metadata(file).map_err(failed)?;
    if !meta.is_file() {
        return Err("is not a regular file".into());
    }
    if meta.len() > most {
        return Err(format!("has {} bytes; the most is {most}", meta.len()));
    }
    let bytes = std::fs::read(file).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("is not UTF-8 text (first wrong byte at offset {at})")
    })?;
    Ok(Source::new(file, text))
}

/// Reads a document.
///
/// # Errors
/// A finding with this code that names the line, the key and what was expected.
pub(crate) fn parse<T: DeserializeOwned>(source: &Source, code: &'static str) -> Result<T, Box<Finding>> {
    let malformed = |error: &toml::de::Error, key: Option<String>| {
        Box::new(Finding {
            severity: Severity::Error,
            code,
            file: source.file.clone(),
            line: error.span().map(|span| source.line_at(span.start)),
            key: key.map(|key| harmless_line(&key, PROBLEM_BYTES)),
            problem: harmless_line(&error.message().trim().replace('\n', ", "), PROBLEM_BYTES),
            mend: None,
        })
    };
    let document = toml::Deserializer::parse(&source.text).map_err(|error| malformed(&error, None))?;
    serde_path_to_error::deserialize(document).map_err(|error| {
        let key = error.path().to_string();
        malformed(error.inner(), (key != ".").then_some(key))
    })
}
