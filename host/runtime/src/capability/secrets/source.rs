//! Where a secret comes from.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use secrecy::SecretString;

/// Bytes of a secret; 64 KiB. A key or a certificate chain has a few.
const BYTES: u64 = 64 << 10;

/// Where a secret comes from. It is read when the handler is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// An environment variable of the host.
    Env(String),
    /// A file of the host, without the line end at its end.
    File(PathBuf),
}

impl SecretSource {
    /// Reads it. The error is text for the operator, and holds nothing of the secret.
    pub(super) fn read(&self) -> Result<SecretString, String> {
        let (text, place) = match self {
            SecretSource::Env(name) => (from_environment(name)?, format!("environment variable `{name}`")),
            SecretSource::File(path) => {
                let place = format!("file {}", path.display());
                (from_file(path).map_err(|reason| format!("{place} {reason}"))?, place)
            }
        };
        match text.is_empty() {
            true => Err(format!("{place} is empty")),
            false => Ok(text.into()),
        }
    }
}

fn from_environment(name: &str) -> Result<String, String> {
    match std::env::var(name) {
        Ok(text) => Ok(text),
        Err(std::env::VarError::NotPresent) => Err(format!("environment variable `{name}` is not set")),
        Err(std::env::VarError::NotUnicode(_)) => Err(format!("environment variable `{name}` is not UTF-8 text")),
    }
}

fn from_file(path: &PathBuf) -> Result<String, String> {
    // Looked at before it is opened, because opening a FIFO would wait for a writer.
    let meta = std::fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?;
    if !meta.is_file() {
        return Err("is not a file".into());
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > BYTES {
        return Err(format!("is larger than {BYTES} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8 text")?;
    // Editors end a file with a line end; a secret has none.
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn file(content: &[u8]) -> Result<String, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        std::fs::write(&path, content).unwrap();
        SecretSource::File(path).read().map(|secret| secret.expose_secret().to_owned())
    }

    #[test]
    fn a_file_is_a_secret_without_its_last_line_end() {
        assert_eq!(file(b"geheim\n").unwrap(), "geheim");
        assert_eq!(file(b"geheim\r\n").unwrap(), "geheim");
        assert_eq!(file(b" two\nlines\n\n").unwrap(), " two\nlines\n");
        assert_eq!(file(&[b'x'; BYTES as usize]).unwrap().len(), BYTES as usize);
    }

    #[test]
    fn what_is_no_secret_is_told_with_its_place_and_without_its_content() {
        for (content, words) in [
            (&b"\n"[..], "is empty"),
            (b"", "is empty"),
            (b"\xffgeheim", "is not UTF-8"),
            (&[b'x'; BYTES as usize + 1], "is larger than 65536 bytes"),
        ] {
            let error = file(content).unwrap_err();
            assert!(error.contains(words) && error.contains("/secret") && !error.contains("geheim"), "{error}");
        }
        let dir = tempfile::tempdir().unwrap();
        let missing = SecretSource::File(dir.path().join("none")).read().unwrap_err();
        assert!(missing.contains("/none cannot be read"), "{missing}");
        let folder = SecretSource::File(dir.path().to_owned()).read().unwrap_err();
        assert!(folder.contains("is not a file"), "{folder}");
        let unset = SecretSource::Env("WORKHOST_TEST_NOT_SET".into()).read().unwrap_err();
        assert_eq!(unset, "environment variable `WORKHOST_TEST_NOT_SET` is not set");
    }

    #[test]
    fn a_variable_is_a_secret_as_it_is() {
        // One that every test has.
        let path = SecretSource::Env("PATH".into()).read().unwrap();
        assert_eq!(path.expose_secret(), std::env::var("PATH").unwrap());
        assert!(!format!("{path:?}").contains('/'));
    }
}
