//! The proof that a toolchain works: it compiles a program, and the result is a component.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::TARGET;
use crate::process::{forget_outer_build, path_with, read};

/// Names each part of std whose absence shows only when linking: threads above all.
const PROGRAM: &str = r#"
use std::net::TcpListener;

fn main() {
    let entries = std::fs::read_dir("/").map(|entries| entries.count());
    let started = std::time::Instant::now();
    let answer = std::thread::Builder::new().spawn(|| 42).map(std::thread::JoinHandle::join);
    let words: std::collections::HashMap<String, String> = std::env::vars().collect();
    println!("{entries:?} {answer:?} {words:?} {:?} {:?}", TcpListener::bind("[::1]:0"), started.elapsed());
}
"#;

/// How a component begins: the wasm magic, then version 13 of the layer for components (a core
/// module has layer 0).
const COMPONENT: [u8; 8] = *b"\0asm\x0d\0\x01\0";

/// Compiles a program with the `rustc` of a toolchain's folder.
///
/// # Errors
/// When it does not compile, or the result is not a component.
pub(super) fn compiles_a_component(folder: &Path) -> Result<()> {
    let bench = tempfile::tempdir()?;
    let (source, component) = (bench.path().join("smoke.rs"), bench.path().join("smoke.wasm"));
    fs::write(&source, PROGRAM)?;
    let mut rustc = Command::new(folder.join("bin/rustc"));
    forget_outer_build(&mut rustc);
    rustc.env("PATH", path_with(&folder.join("bin"))?);
    rustc.args(["--edition", "2024", "--target", TARGET, "-o"]).arg(&component).arg(&source);
    read(&mut rustc).context("it does not compile a small program")?;
    let bytes = fs::read(&component).context("it compiled a small program to nothing")?;
    if !bytes.starts_with(&COMPONENT) {
        bail!("what it compiles for {TARGET} is not a component");
    }
    Ok(())
}
