//! What an entry is called, and what proves that it is ours.
//!
//! A file is a line that names the format, a tag, and the compiled code. The tag is HMAC-SHA256 under the folder's
//! secret over the line, the entry's name and the code. The name is in it so that one entry cannot stand in for another.

use std::hash::{Hash, Hasher};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use wasmtime::Engine;

use super::secret::Secret;

/// The first bytes of each file. The number changes with the format, and with what the key is made of.
const FORMAT: &[u8] = b"workhost compiled component, format 1\n";

const TAG_BYTES: usize = 32;

/// Bytes before the code.
pub(super) const HEAD_BYTES: usize = FORMAT.len() + TAG_BYTES;

/// How many digits each half of an entry's name has.
const DIGITS: usize = 64;

/// Which compiled code: of which component, for which engine.
pub(crate) struct Key(String);

impl Key {
    /// The key of the component whose bytes have this SHA-256, compiled by this engine.
    pub(crate) fn new(engine: &Engine, component: &[u8; 32]) -> Key {
        // Everything that the code depends on beside the component: wasmtime's version and settings, the processor.
        let mut for_engine = EngineHasher(Sha256::new());
        engine.precompile_compatibility_hash().hash(&mut for_engine);
        Key(format!("{}-{}", hex::encode(component), hex::encode(for_engine.0.finalize())))
    }

    /// The name of the entry's file: the component's digest and the engine's.
    pub(crate) fn name(&self) -> &str {
        &self.0
    }
}

/// Whether a file of this name is an entry.
pub(super) fn is_name(name: &str) -> bool {
    let half = |half: &str| half.len() == DIGITS && half.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.split_once('-').is_some_and(|(component, engine)| half(component) && half(engine))
}

/// Takes in whole what is hashed: the 64 bits of std's hasher could collide, and change with the compiler.
struct EngineHasher(Sha256);

impl Hasher for EngineHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        unreachable!("the whole digest is used instead")
    }
}

/// Compiled code that was written with the folder's secret under the name that it was asked for. Only [`verify`] makes one.
pub(super) struct Authentic<'a>(&'a [u8]);

impl Authentic<'_> {
    pub(super) fn code(&self) -> &[u8] {
        self.0
    }
}

/// What stands before the code.
pub(super) fn seal(secret: &Secret, key: &Key, code: &[u8]) -> Vec<u8> {
    let tag = mac(secret, key, code).finalize().into_bytes();
    [FORMAT, &tag[..]].concat()
}

/// The code of a file that is authentic. Says not what is wrong with another: no part of it can be believed.
pub(super) fn verify<'a>(secret: &Secret, key: &Key, file: &'a [u8]) -> Option<Authentic<'a>> {
    let (tag, code) = file.strip_prefix(FORMAT)?.split_at_checked(TAG_BYTES)?;
    // In constant time.
    mac(secret, key, code).verify_slice(tag).ok()?;
    Some(Authentic(code))
}

fn mac(secret: &Secret, key: &Key, code: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.bytes()).expect("HMAC takes keys of any length");
    // All names have one length, so no other name and code make the same text.
    mac.update(FORMAT);
    mac.update(key.name().as_bytes());
    mac.update(code);
    mac
}

#[cfg(test)]
mod tests;
