//! What tells one build of a component from another.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The SHA-256 of a component's bytes, written as `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest(pub(crate) [u8; 32]);

/// Why a text is no digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `sha256:` and 64 hexadecimal digits, as `workhost inspect` shows them for a component")]
pub struct NoDigest;

impl FromStr for Digest {
    type Err = NoDigest;

    fn from_str(text: &str) -> Result<Digest, NoDigest> {
        let mut sha256 = [0; 32];
        let digits = text.strip_prefix("sha256:").ok_or(NoDigest)?;
        hex::decode_to_slice(digits, &mut sha256).map_err(|_| NoDigest)?;
        Ok(Digest(sha256))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A component's file, and the digest that its bytes must have, if one is pinned.
#[derive(Clone, Copy, Debug)]
pub struct ComponentFile<'a> {
    /// The file.
    pub path: &'a Path,
    /// What it must be. Nothing is compiled of a file that is something else.
    pub digest: Option<Digest>,
}

impl<'a> From<&'a Path> for ComponentFile<'a> {
    fn from(path: &'a Path) -> Self {
        ComponentFile { path, digest: None }
    }
}

impl<'a> From<&'a PathBuf> for ComponentFile<'a> {
    fn from(path: &'a PathBuf) -> Self {
        path.as_path().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_as_it_is_written_and_capitals_are_the_same_digits() {
        let text = format!("sha256:{}", "0f".repeat(32));
        assert_eq!(text.parse::<Digest>().map(|digest| digest.to_string()), Ok(text.clone()));
        assert_eq!(format!("sha256:{}", "0F".repeat(32)).parse::<Digest>(), text.parse());
    }

    #[test]
    fn what_is_no_digest_is_refused() {
        for wrong in ["", "sha256:", "sha256:0f", &"0f".repeat(32), &format!("sha512:{}", "0f".repeat(32))] {
            assert_eq!(wrong.parse::<Digest>(), Err(NoDigest), "{wrong}");
        }
        for digits in ["0g".repeat(32), "0f".repeat(33), " ".repeat(64), "é".repeat(32)] {
            assert_eq!(format!("sha256:{digits}").parse::<Digest>(), Err(NoDigest), "{digits}");
        }
    }
}
