//! What the toolchain from Debian's packages takes from an installed one: cargo and the linkers.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::debian::HOST;
use super::sysroot;
use crate::process::is_program;

/// The programs that Debian has not, or not in a version that fits: they are linked to, not copied,
/// because they load libraries of the toolchain they belong to.
pub(super) struct Borrowed {
    /// The toolchain that they belong to.
    pub(super) toolchain: PathBuf,
}

impl Borrowed {
    /// Looks at the active toolchain, then at all of rustup's.
    ///
    /// # Errors
    /// When none has them all.
    pub(super) fn find() -> Result<Self> {
        let mut candidates: Vec<PathBuf> = sysroot::active().into_iter().collect();
        let rustup =
            std::env::var_os("RUSTUP_HOME").map(PathBuf::from).or_else(|| Some(std::env::home_dir()?.join(".rustup")));
        if let Some(entries) = rustup.and_then(|home| fs::read_dir(home.join("toolchains")).ok()) {
            candidates.extend(entries.flatten().map(|entry| entry.path()));
        }
        candidates
            .into_iter()
            .map(|toolchain| Self { toolchain })
            .find(|found| {
                let linkers = ["rust-lld", "wasm-component-ld"];
                is_program(&found.cargo()) && linkers.iter().all(|linker| is_program(&found.programs().join(linker)))
            })
            .context(
                "no installed toolchain has `cargo`, `rust-lld` and `wasm-component-ld`; rustup's own toolchains do",
            )
    }

    pub(super) fn cargo(&self) -> PathBuf {
        self.toolchain.join("bin/cargo")
    }

    /// The folder of the linkers.
    pub(super) fn programs(&self) -> PathBuf {
        self.toolchain.join("lib/rustlib").join(HOST).join("bin")
    }
}
