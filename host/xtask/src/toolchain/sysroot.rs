//! The first way: the active compiler has the target already.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::{TARGET, smoke};
use crate::cache::Locked;
use crate::process::{forget_outer_build, read};

/// The active compiler's folder, if it compiles components.
///
/// # Errors
/// When there is no compiler, it lacks the target, or what it builds is no component.
pub(super) fn provide(cache: &Locked) -> Result<PathBuf> {
    let folder = active()?;
    if !has_target(&folder) {
        bail!("{} has no standard library for {TARGET}", read(&mut rustc("--version"))?);
    }
    // The proof is kept, so that a compiler is tried once and not at each build.
    let proof = cache.folder().join("proved");
    let identity = format!("{}\n{}", folder.display(), read(&mut rustc("-vV"))?);
    if std::fs::read_to_string(&proof).is_ok_and(|proved| proved == identity) {
        return Ok(folder);
    }
    smoke::compiles_a_component(&folder)?;
    std::fs::write(&proof, identity)?;
    Ok(folder)
}

/// The folder of the compiler that `rustc` on the `PATH` stands for.
///
/// # Errors
/// When there is none.
pub(super) fn active() -> Result<PathBuf> {
    Ok(read(rustc("--print").arg("sysroot"))?.into())
}

/// Whether a compiler's folder holds a standard library for the target.
pub(super) fn has_target(folder: &Path) -> bool {
    let library = folder.join("lib/rustlib").join(TARGET).join("lib");
    let is_std = |name: String| name.starts_with("libstd-") && name.ends_with(".rlib");
    std::fs::read_dir(library)
        .is_ok_and(|entries| entries.flatten().any(|entry| is_std(entry.file_name().to_string_lossy().into_owned())))
}

fn rustc(argument: &str) -> Command {
    let mut rustc = Command::new("rustc");
    forget_outer_build(&mut rustc);
    rustc.arg(argument);
    rustc
}
