//! `cargo xtask toolchain`: a Rust toolchain that compiles components (`wasm32-wasip2`).
//!
//! Three ways, tried in this order: the active compiler can do it already; rustup adds the target;
//! Debian's packages are unpacked privately. Only the last one keeps something in the cache.

mod borrowed;
mod debian;
mod rustup;
mod smoke;
mod standard_library;
mod sysroot;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::cache::Locked;
use crate::process::{forget_outer_build, path_with};

/// What components are compiled for.
pub(crate) const TARGET: &str = "wasm32-wasip2";

/// Provide a Rust toolchain that compiles components, and print its folder
///
/// Does nothing but print when there is one. Put its `bin` folder first on the PATH to use it by
/// hand; `cargo xtask handlers` and `cargo xtask test` do that by themselves.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask toolchain
  WORKHOST_WASM_TOOLCHAIN=debian cargo xtask toolchain --rebuild
  PATH=\"$(cargo xtask toolchain)/bin:$PATH\" cargo build --target wasm32-wasip2 -p crawl")]
pub(crate) struct Args {
    /// Allow only this way of getting it
    #[arg(long, env = "WORKHOST_WASM_TOOLCHAIN", value_name = "WAY")]
    way: Option<Way>,
    /// Build a kept toolchain anew, from the newest packages
    #[arg(long)]
    rebuild: bool,
}

/// How a toolchain is obtained.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    /// The active rustc has the target already
    Sysroot,
    /// `rustup target add wasm32-wasip2`
    Rustup,
    /// Debian's compiler and libraries, unpacked into the cache; root is not needed
    Debian,
}

/// A toolchain that has compiled a component on this machine.
pub(crate) struct Toolchain {
    folder: PathBuf,
}

impl Toolchain {
    /// A `cargo` that compiles with this toolchain and with nothing that an outer build has set.
    ///
    /// # Errors
    /// When the toolchain's folder cannot stand on the `PATH`.
    pub(crate) fn cargo(&self) -> Result<Command> {
        let own = self.folder.join("bin/cargo");
        // A compiler of a distribution may have its cargo elsewhere.
        let mut cargo = Command::new(if own.exists() { own.as_path() } else { Path::new("cargo") });
        forget_outer_build(&mut cargo);
        cargo.env("PATH", path_with(&self.folder.join("bin"))?);
        Ok(cargo)
    }
}

/// Runs the command.
///
/// # Errors
/// As [`provide`].
pub(crate) fn run(args: &Args) -> Result<()> {
    let toolchain = obtain(args.way, args.rebuild)?;
    println!("{}", toolchain.folder.display());
    Ok(())
}

/// Provides the toolchain as the environment asks for it (`WORKHOST_WASM_TOOLCHAIN`).
///
/// # Errors
/// When no way leads to a toolchain: what each one lacks, and what to do.
pub(crate) fn provide() -> Result<Toolchain> {
    let way = match std::env::var("WORKHOST_WASM_TOOLCHAIN") {
        Ok(name) if !name.is_empty() => match Way::from_str(&name, false) {
            Ok(way) => Some(way),
            Err(_) => bail!(
                "WORKHOST_WASM_TOOLCHAIN={name} is no way to a toolchain\nhint: use sysroot, rustup or debian, or unset it"
            ),
        },
        _ => None,
    };
    obtain(way, false)
}

fn obtain(forced: Option<Way>, rebuild: bool) -> Result<Toolchain> {
    let cache = Locked::open("wasm-toolchain")?;
    let mut lacking = Vec::new();
    for (way, name) in [(Way::Sysroot, "sysroot"), (Way::Rustup, "rustup"), (Way::Debian, "debian")] {
        if forced.is_some_and(|forced| forced != way) {
            continue;
        }
        let found = match way {
            Way::Sysroot => sysroot::provide(&cache),
            Way::Rustup => rustup::provide(&cache),
            Way::Debian => debian::provide(&cache, rebuild),
        };
        match found {
            Ok(folder) => return Ok(Toolchain { folder }),
            Err(why) => lacking.push(format!("  {name}: {why:#}")),
        }
    }
    bail!(
        "no Rust toolchain here compiles for {TARGET}\n{}\nhint: with rustup and its server in reach, `rustup target add {TARGET}` is all it takes",
        lacking.join("\n")
    )
}
