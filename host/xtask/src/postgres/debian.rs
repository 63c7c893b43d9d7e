//! Debian's PostgreSQL, unpacked into the cache: nothing is installed, so no cluster of Debian's is
//! made, and root is not needed.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::programs::{Programs, usable};
use crate::apt::{self, Apt};
use crate::cache::Locked;
use crate::process::say;

/// The server that Debian's release has, unpacked once.
///
/// # Errors
/// When this is no Debian, or its archives are out of reach.
pub(super) fn programs() -> Result<Programs> {
    let cache = Locked::open_for_all("postgresql")?;
    let finished = cache.folder().join("debian");
    if let Some(programs) = unpacked(&finished) {
        return Ok(programs);
    }
    say("fetching PostgreSQL from Debian's archives (once; nothing is installed)");
    fetch(&cache, &finished, |apt| {
        let depends = apt.depends("postgresql")?;
        let server = depends.into_iter().find(|name| name.starts_with("postgresql-"));
        server.context("Debian's `postgresql` depends on no version")
    })?;
    unpacked(&finished).context("Debian's PostgreSQL does not start here")
}

/// Unpacks a package, and those libraries of its needs that this machine lacks, into a folder of the cache.
///
/// # Errors
/// When this is no Debian, or its archives are out of reach.
pub(super) fn fetch(cache: &Locked, finished: &Path, package: impl FnOnce(&Apt) -> Result<String>) -> Result<()> {
    let sources = apt::machine_sources()?;
    let workshop = cache.workshop()?;
    let apt = Apt::new(&workshop.path().join("apt"), &sources)?;
    let package = package(&apt)?;
    // LLVM serves compiled queries alone, which the tests turn off, and is most of the download.
    let mut wanted = apt.missing_for(&package)?;
    wanted.retain(|name| *name == package || (name.starts_with("lib") && !name.starts_with("libllvm")));
    if !wanted.contains(&package) {
        bail!("{package} is installed on this machine, but does not start");
    }
    let system = workshop.path().join("system");
    fs::create_dir(&system)?;
    for package in apt.download(&wanted)? {
        apt::unpack(&package, &system, &["--exclude=./usr/share/doc", "--exclude=./usr/share/man"])?;
    }
    if finished.exists() {
        fs::rename(finished, workshop.path().join("old"))?;
    }
    fs::rename(&system, finished)?;
    Ok(())
}

fn unpacked(system: &Path) -> Option<Programs> {
    let versions = fs::read_dir(system.join("usr/lib/postgresql")).ok()?;
    let libraries = fs::read_dir(system.join("usr/lib")).ok()?.flatten().map(|entry| entry.path());
    let libraries = libraries.into_iter().find(|folder| folder.to_string_lossy().ends_with("-linux-gnu"))?;
    versions.flatten().find_map(|version| usable(&version.path().join("bin"), Some(libraries.clone())))
}
