//! The third way: Debian's own Rust compiler, unpacked into the cache, with a standard library for
//! components built from the source of the same version.
//!
//! For machines that reach package archives and crates.io, but not rustup's server. Debian ships
//! the compiler (`rustc-web`), the source (`rust-web-src`) and the C library for the target
//! (`wasi-libc`); the linker and cargo are those of an installed rustup toolchain.
//!
//! A toolchain is put together beside its final place and moved there as the last step, so that
//! an interrupted build never looks like a finished one.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::borrowed::Borrowed;
use super::{TARGET, smoke, standard_library, sysroot};
use crate::apt::{self, Apt, Source};
use crate::cache::Locked;
use crate::process::{is_program, read, say};

/// What this is written for and tested on.
pub(super) const HOST: &str = "x86_64-unknown-linux-gnu";

/// The finished toolchain's folder, and the file in it that tells what it consists of.
const FINISHED: &str = "debian";
const PARTS: &str = "parts.txt";

/// Suites with a C library that std of 2026 links against, the most settled one first. Bookworm's
/// lacks the target, and those of its backports and of trixie lack the stubs for threads.
const LIBC_SUITES: [&str; 2] = ["forky", "sid"];

/// The toolchain's folder, built if it is not there.
///
/// # Errors
/// What the machine lacks, or which step failed; nothing half-built stays.
pub(super) fn provide(cache: &Locked, rebuild: bool) -> Result<PathBuf> {
    let finished = cache.folder().join(FINISHED);
    if !rebuild && is_whole(&finished) {
        return Ok(finished);
    }
    let borrowed = Borrowed::find()?;
    ensure!(std::env::consts::ARCH == "x86_64", "only x86-64 machines are supported this way");
    let sources = apt::machine_sources()?;
    let workshop = cache.workshop()?;
    say("putting together a toolchain for components from Debian's packages (one to three minutes, once)");

    let toolchain = workshop.path().join("toolchain");
    let parts = Packages::fetch(workshop.path(), &sources)?.assemble(&toolchain, &borrowed)?;
    smoke::compiles_a_component(&toolchain)?;
    fs::write(toolchain.join(PARTS), parts)?;

    if finished.exists() {
        fs::rename(&finished, workshop.path().join("old"))?;
    }
    fs::rename(&toolchain, &finished).context("cannot move the finished toolchain to its place")?;
    Ok(finished)
}

/// A finished toolchain can still lose the programs that it borrowed: an update of rustup's
/// toolchain removes them.
fn is_whole(finished: &Path) -> bool {
    let linker = finished.join("lib/rustlib").join(HOST).join("bin/wasm-component-ld");
    finished.join(PARTS).is_file()
        && sysroot::has_target(finished)
        && is_program(&linker)
        && read(Command::new(finished.join("bin/cargo")).arg("--version")).is_ok()
        && read(Command::new(finished.join("bin/rustc")).arg("--version")).is_ok()
}

/// The packages, unpacked side by side as on a system.
struct Packages {
    system: PathBuf,
    bench: PathBuf,
    libc: String,
}

impl Packages {
    fn fetch(bench: &Path, sources: &[Source]) -> Result<Self> {
        let system = bench.join("system");
        fs::create_dir(&system)?;
        let apt = Apt::new(&bench.join("apt"), sources)?;
        for package in apt.download(&wanted(&apt)?)? {
            // Of the source package the standard library alone: the rest is a hundred times as much.
            let is_source = package.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rust-web-src"));
            let only_library: &[&str] = &["--wildcards", "--no-wildcards-match-slash", "./usr/src/rustc-*/library"];
            apt::unpack(&package, &system, if is_source { only_library } else { &["--exclude=./usr/share"] })?;
        }
        let libc = fetch_libc(bench, &sources[0])?;
        apt::unpack(&libc, &system, &[&format!("./usr/lib/{TARGET}")])?;
        let libc = read(Command::new("dpkg-deb").arg("--field").arg(&libc).arg("Version"))?;
        Ok(Self { system, bench: bench.to_owned(), libc })
    }

    /// Arranges the parts as `rustc` looks for them, and builds the standard library. Returns what
    /// the toolchain consists of, for people.
    fn assemble(&self, toolchain: &Path, borrowed: &Borrowed) -> Result<String> {
        let (library, host) = (toolchain.join("lib"), toolchain.join("lib/rustlib").join(HOST));
        for folder in [toolchain.join("bin"), toolchain.join("real"), host.join("bin")] {
            fs::create_dir_all(folder)?;
        }
        let usr = self.system.join("usr");
        for entry in fs::read_dir(usr.join("lib/x86_64-linux-gnu"))? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().contains(".so") {
                fs::rename(entry.path(), library.join(entry.file_name()))?;
            }
        }
        fs::rename(usr.join("lib/rustlib").join(HOST).join("lib"), host.join("lib"))?;
        for program in fs::read_dir(borrowed.programs())? {
            let program = program?;
            symlink(program.path(), host.join("bin").join(program.file_name()))?;
        }
        for program in ["rustc", "rustdoc"] {
            let real = toolchain.join("real").join(program);
            fs::rename(usr.join("bin").join(program), &real)?;
            let body = format!(
                "LD_LIBRARY_PATH=\"$here/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\" exec \"$here/real/{program}\" \"$@\""
            );
            starter(&toolchain.join("bin").join(program), &body)?;
        }
        // Named, so that cargo never takes the first compiler that it finds elsewhere.
        let cargo = borrowed.cargo();
        let body =
            format!("RUSTC=\"$here/bin/rustc\" RUSTDOC=\"$here/bin/rustdoc\" exec \"{}\" \"$@\"", cargo.display());
        starter(&toolchain.join("bin/cargo"), &body)?;

        let compiler = read(Command::new(toolchain.join("bin/rustc")).arg("--version"))
            .context("Debian's compiler does not start here")?;
        let version = compiler.split(' ').nth(1).context("Debian's compiler tells no version")?;
        let source = usr.join(format!("src/rustc-{version}/library"));
        ensure!(
            source.is_dir(),
            "Debian's archives hold the compiler {version} but another version's source; try again in a day"
        );
        standard_library::build(toolchain, &source, version, &usr.join("lib").join(TARGET), &self.bench.join("std"))?;

        let cargo = read(Command::new(cargo).arg("--version"))?;
        Ok(format!("{compiler}\n{cargo}\nwasi-libc {}\nlinker of {}\n", self.libc, borrowed.toolchain.display()))
    }
}

/// The compiler, its libraries and its source. Versions are looked up, since the security archive
/// keeps the newest one only.
fn wanted(apt: &Apt) -> Result<Vec<String>> {
    let need = |package: &str, prefix: &str| -> Result<String> {
        let depends = apt.depends(package)?;
        let found = depends.into_iter().find(|name| name.starts_with(prefix));
        found.with_context(|| format!("Debian's {package} no longer depends on a package {prefix}…"))
    };
    let development = need("rustc-web", "libstd-rust-web-dev")?;
    let runtime = need(&development, "libstd-rust-web-1")?;
    let llvm = need(&runtime, "libllvm")?;
    let mut wanted = vec!["rustc-web".to_owned(), "rust-web-src".to_owned(), development, runtime, llvm];
    for package in apt.missing_for("rustc-web")? {
        let is_library = package.starts_with("lib") && !package.ends_with("-dev");
        if is_library && !wanted.contains(&package) {
            wanted.push(package);
        }
    }
    Ok(wanted)
}

fn fetch_libc(bench: &Path, release: &Source) -> Result<PathBuf> {
    let package = ["wasi-libc".to_owned()];
    for suite in LIBC_SUITES {
        let found = Apt::new(&bench.join(suite), &[release.in_suite(suite)])
            .and_then(|apt| apt.download(&package))
            .with_context(|| format!("no C library for components in {suite}"));
        match found {
            Ok(files) => {
                for file in files {
                    if apt::listing(&file)?.contains(&format!("/usr/lib/{TARGET}/libc.a")) {
                        return Ok(file);
                    }
                }
            }
            Err(error) => say(&format!("{error:#}")),
        }
    }
    bail!("Debian's archives have no wasi-libc for {TARGET} (looked in {})", LIBC_SUITES.join(", "))
}

/// Writes a program that starts another one of the toolchain, wherever the toolchain lies (`$here`).
fn starter(file: &Path, body: &str) -> Result<()> {
    fs::write(file, format!("#!/bin/sh\nhere=$(dirname \"$(dirname \"$(readlink -f \"$0\")\")\")\n{body}\n"))?;
    Ok(fs::set_permissions(file, fs::Permissions::from_mode(0o755))?)
}
