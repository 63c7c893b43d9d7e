//! Running other programs, and telling people about it.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Tells a person what is being done now; results go to stdout, this to stderr.
pub(crate) fn say(what: &str) {
    eprintln!("xtask: {what}");
}

/// The end of a command that has told all there is to say about its failure.
#[derive(Debug)]
pub(crate) struct AlreadyTold;

impl std::fmt::Display for AlreadyTold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("see above")
    }
}

impl std::error::Error for AlreadyTold {}

/// `cargo` as a person would have called it.
///
/// `cargo run` describes the program that it runs in the environment (`CARGO_PKG_NAME` and so on);
/// an inner cargo would hand that on to build scripts and tests as if it were theirs.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new("cargo");
    forget(&mut cargo, |name| {
        name == "CARGO"
            || name == "CARGO_PRIMARY_PACKAGE"
            || ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
    });
    cargo
}

/// Makes a command that compiles for another target, with another compiler, forget what an outer
/// cargo or the user has set for this one. Network settings and `CARGO_HOME` stay.
pub(crate) fn forget_outer_build(command: &mut Command) {
    forget(command, |name| {
        let one =
            ["RUSTC", "RUSTDOC", "RUSTFLAGS", "RUSTDOCFLAGS", "CARGO", "CARGO_PRIMARY_PACKAGE", "CARGO_TARGET_DIR"];
        let all = [
            "RUSTC_",
            "CARGO_ENCODED_",
            "CARGO_BUILD_",
            "CARGO_PROFILE_",
            "CARGO_INCREMENTAL",
            "CARGO_MANIFEST_",
            "CARGO_PKG_",
            "CARGO_BIN_",
            "CARGO_CRATE_",
        ];
        (one.contains(&name) || all.iter().any(|prefix| name.starts_with(prefix))) && name != "CARGO_BUILD_JOBS"
    });
}

fn forget(command: &mut Command, unwanted: impl Fn(&str) -> bool) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(&unwanted) {
            command.env_remove(&name);
        }
    }
}

/// Runs to the end, with the program's output on our stderr: stdout is for results.
///
/// # Errors
/// When it cannot be started or does not succeed; the error names the program.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status =
        command.stdin(Stdio::null()).stdout(std::io::stderr()).status().with_context(|| cannot_start(command))?;
    if !status.success() {
        bail!("`{}` failed ({status})", shown(command));
    }
    Ok(())
}

/// Runs to the end and returns what the program wrote to stdout, without the last line break.
///
/// # Errors
/// When it cannot be started or does not succeed; the error carries what it wrote to stderr.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| cannot_start(command))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` failed ({}): {}", shown(command), output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// Whether we run as root.
///
/// # Errors
/// When the system does not tell.
pub(crate) fn is_root() -> Result<bool> {
    Ok(read(Command::new("id").arg("-u"))? == "0")
}

/// Where a program lies on the `PATH`, if it does.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    folders_on_path().into_iter().map(|folder| folder.join(program)).find(|file| is_program(file))
}

/// The folders of the `PATH`, in order.
pub(crate) fn folders_on_path() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// Whether a file exists and may be executed by someone.
pub(crate) fn is_program(file: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// `PATH` with `first` before everything that is on it.
///
/// # Errors
/// When a folder's name contains the separator.
pub(crate) fn path_with(first: &std::path::Path) -> Result<std::ffi::OsString> {
    let folders = std::iter::once(first.to_owned()).chain(folders_on_path());
    std::env::join_paths(folders).context("the toolchain's folder cannot stand on the PATH")
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start `{}`", command.get_program().display())
}

/// The command as a person would type it.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
