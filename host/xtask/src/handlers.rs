//! `cargo xtask handlers`: the components that ship with workhost, and those for the tests.

use std::fs;
use std::io::{BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use cargo_metadata::{Message, Package};

use crate::process::say;
use crate::toolchain::{self, TARGET, Toolchain};
use crate::workspace::Workspace;

/// Build the components: the handlers that ship with workhost and the guests for the tests
///
/// They lie in `target/components/<handler>.wasm` and `target/components/guests/<guest>.wasm`
/// afterwards; a file whose component did not change is left as it is.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask handlers
  cargo xtask handlers --check     compile errors only, nothing is written to target/components")]
pub(crate) struct Args {
    /// Only see whether they compile for the component target
    #[arg(long)]
    check: bool,
}

/// Runs the command.
///
/// # Errors
/// When there is no toolchain or a component does not compile.
pub(crate) fn run(args: &Args) -> Result<()> {
    let workspace = Workspace::load()?;
    let toolchain = toolchain::provide()?;
    if args.check {
        compile(&workspace, &toolchain, "check", &workspace.handlers(), "--lib")?;
        compile(&workspace, &toolchain, "check", &workspace.guests(), "--examples")?;
        return Ok(());
    }
    for component in build_with(&workspace, &toolchain)? {
        println!("{}", component.display());
    }
    Ok(())
}

/// Builds all components and returns their files.
///
/// # Errors
/// When there is no toolchain or a component does not compile.
pub(crate) fn build(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    build_with(workspace, &toolchain::provide()?)
}

fn build_with(workspace: &Workspace, toolchain: &Toolchain) -> Result<Vec<PathBuf>> {
    say("building the components");
    let folder = workspace.components_dir();
    // Two builds, because a build of examples takes in what only tests depend on.
    let handlers = compile(workspace, toolchain, "build", &workspace.handlers(), "--lib")?;
    let guests = compile(workspace, toolchain, "build", &workspace.guests(), "--examples")?;
    let mut kept = place(&handlers, &folder)?;
    kept.extend(place(&guests, &folder.join("guests"))?);
    Ok(kept)
}

/// A component that cargo has built: the name by which people know it, and the file.
struct Built {
    name: String,
    file: PathBuf,
}

fn compile(
    workspace: &Workspace,
    toolchain: &Toolchain,
    verb: &str,
    packages: &[&Package],
    targets: &str,
) -> Result<Vec<Built>> {
    if packages.is_empty() {
        return Ok(Vec::new());
    }
    let mut cargo = toolchain.cargo()?;
    cargo
        .current_dir(workspace.root())
        .args([verb, "--locked", "--profile", "handler", "--target", TARGET, targets])
        .args(["--message-format", "json-render-diagnostics", "--target-dir"])
        // Apart from the host's: two compilers would throw each other's work away.
        .arg(workspace.target_dir().join("wasm"))
        .args(packages.iter().flat_map(|package| ["--package", package.name.as_str()]));
    let messages = messages_of(cargo)?;
    let mut built = Vec::new();
    for message in messages {
        let Message::CompilerArtifact(artifact) = message else { continue };
        let Some(package) = packages.iter().find(|package| package.id == artifact.package_id) else { continue };
        let Some(file) = artifact.filenames.iter().find(|file| file.extension() == Some("wasm")) else { continue };
        // A handler is known by its package; a guest is one of many examples in a package.
        let name = if artifact.target.is_example() { artifact.target.name } else { package.name.to_string() };
        built.push(Built { name, file: file.clone().into() });
    }
    Ok(built)
}

/// Runs cargo and collects what it reports; compiler errors and progress go to stderr.
fn messages_of(mut cargo: Command) -> Result<Vec<Message>> {
    let mut running = cargo.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start `cargo`")?;
    let output = running.stdout.take().expect("stdout was asked to be a pipe");
    let messages = Message::parse_stream(BufReader::new(output)).collect::<Result<Vec<_>, _>>();
    if !running.wait()?.success() {
        bail!("the components do not compile: see the messages above");
    }
    messages.context("cannot read what cargo reports")
}

/// Puts components into a folder under their stable names, and removes others that lie there.
///
/// # Errors
/// When the folder cannot be written.
fn place(built: &[Built], folder: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder)?;
    let mut placed = Vec::new();
    for component in built {
        let target = folder.join(&component.name).with_extension("wasm");
        let bytes = fs::read(&component.file).with_context(|| format!("cannot read {}", component.file.display()))?;
        // The modification time tells caches and a running daemon what is new.
        if fs::read(&target).ok().as_ref() != Some(&bytes) {
            let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
            fresh.write_all(&bytes)?;
            // A temporary file is its owner's alone; a component is there for the account of a daemon, too.
            fresh.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
            fresh.as_file().set_permissions(fs::metadata(&component.file)?.permissions())?;
            fresh.persist(&target)?;
        }
        placed.push(target);
    }
    for entry in fs::read_dir(folder)? {
        let file = entry?.path();
        if file.extension().is_some_and(|kind| kind == "wasm") && !placed.contains(&file) {
            fs::remove_file(file)?;
        }
    }
    Ok(placed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(folder: &Path, name: &str, content: &str) -> Built {
        let file = folder.join("built");
        fs::write(&file, content).unwrap();
        Built { name: name.to_owned(), file }
    }

    #[test]
    fn an_unchanged_component_keeps_its_file() {
        let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = &place(&[built(source.path(), "echo", "one")], target.path()).unwrap()[0];
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        fs::File::options().write(true).open(file).unwrap().set_modified(long_ago).unwrap();

        place(&[built(source.path(), "echo", "one")], target.path()).unwrap();
        assert_eq!(fs::metadata(file).unwrap().modified().unwrap(), long_ago);

        place(&[built(source.path(), "echo", "two")], target.path()).unwrap();
        assert_eq!(fs::read_to_string(file).unwrap(), "two");
    }

    #[test]
    fn the_component_of_a_removed_handler_does_not_stay() {
        let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let old = place(&[built(source.path(), "old", "x")], target.path()).unwrap();
        place(&[built(source.path(), "new", "x")], target.path()).unwrap();
        assert!(!old[0].exists());
        assert!(target.path().join("new.wasm").exists());
    }
}
