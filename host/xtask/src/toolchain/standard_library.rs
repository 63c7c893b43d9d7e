//! The standard library for components, built from its source with a toolchain's own compiler.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::TARGET;
use crate::process::{forget_outer_build, run, say};

/// Builds std and puts it where the toolchain's `rustc` looks for it.
///
/// `libc` is the folder of the target's C library. The build is that of the Rust project: its lock
/// file, its profile `dist`. Debian leaves some of std's own dependencies out of the source
/// package, so these come from crates.io.
///
/// # Errors
/// When it does not build; the compiler's messages went to stderr.
pub(super) fn build(toolchain: &Path, source: &Path, version: &str, libc: &Path, bench: &Path) -> Result<()> {
    let home = toolchain.join("lib/rustlib").join(TARGET).join("lib");
    let linked_in = home.join("self-contained");
    fs::create_dir_all(&linked_in)?;
    for entry in fs::read_dir(libc)? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|kind| kind == "a" || kind == "o") {
            fs::copy(entry.path(), linked_in.join(entry.file_name()))?;
        }
    }

    say(&format!("building Rust's standard library {version} for {TARGET}"));
    let mut cargo = Command::new(toolchain.join("bin/cargo"));
    forget_outer_build(&mut cargo);
    // cargo takes flags with spaces in them apart at this character only.
    let flags = [
        // As the Rust project does: what is not marked stable stays out of reach of users.
        "-Zforce-unstable-if-unmarked".to_owned(),
        format!("--remap-path-prefix={}=/rustc/{version}/library", source.display()),
        format!("-Lnative={}", linked_in.display()),
    ]
    .join("\u{1f}");
    cargo
        .current_dir(source)
        .args(["build", "--locked", "--profile", "dist", "--features", "backtrace", "--target", TARGET])
        .args(["--manifest-path", "sysroot/Cargo.toml", "--target-dir"])
        .arg(bench)
        .env("CARGO_ENCODED_RUSTFLAGS", flags)
        // std is written in the language of its own compiler's nightly.
        .env("RUSTC_BOOTSTRAP", "1")
        // Keeps the names of std's libraries apart from those of a guest's dependencies.
        .env("__CARGO_DEFAULT_LIB_METADATA", "std")
        .env("CARGO_PROFILE_DIST_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0");
    run(&mut cargo).context("the standard library does not build")?;

    let built = bench.join(TARGET).join("dist/deps");
    for entry in fs::read_dir(built)? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|kind| kind == "rlib") {
            fs::copy(entry.path(), home.join(entry.file_name()))?;
        }
    }
    Ok(())
}
