//! Components in other languages than Rust, made by the tools that their authors use.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cache::Locked;
use crate::process::{find, run, say};
use crate::workspace::Workspace;

/// The tool that makes components of Python, from PyPI.
const PYTHON: (&str, &str) = ("componentize-py", "0.25.1");
/// The tool that makes components of JavaScript, from npm.
const JAVASCRIPT: (&str, &str) = ("componentize-qjs", "0.4.5");

/// Builds `probe-python.wasm` and `probe-javascript.wasm` into `<components>/languages`.
///
/// What comes out depends on the sources, the contract and the tools alone, so a file that is newer than these stays.
///
/// # Errors
/// When Python or npm is missing, a tool cannot be fetched, or a component does not build.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let folder = workspace.components_dir().join("languages");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let (sources, wit) = (workspace.root().join("tests/guests/languages"), workspace.root().join("wit"));
    let python = folder.join("probe-python.wasm");
    if is_outdated(&python, &[&sources.join("probe.py"), &wit])? {
        say("building a component of Python");
        let tool = python_tool()?;
        let mut componentize = Command::new(tool);
        componentize.arg("-d").arg(&wit).args(["-w", "base", "componentize", "probe", "-o"]).arg(&python);
        run(componentize.current_dir(&sources)).context("the component of Python does not build")?;
    }
    let javascript = folder.join("probe-javascript.wasm");
    if is_outdated(&javascript, &[&sources.join("probe.js"), &wit])? {
        say("building a component of JavaScript");
        let tool = javascript_tool()?;
        let mut componentize = Command::new(tool);
        componentize.arg("--wit").arg(&wit).args(["--world", "base", "--sync", "--js"]).arg(sources.join("probe.js"));
        run(componentize.arg("--output").arg(&javascript)).context("the component of JavaScript does not build")?;
    }
    Ok(())
}

/// Whether a file is missing, or older than this program (whose versions of the tools it was made with) or a source.
fn is_outdated(file: &Path, sources: &[&Path]) -> Result<bool> {
    let Ok(made) = fs::metadata(file).and_then(|meta| meta.modified()) else { return Ok(true) };
    let mut newest = fs::metadata(std::env::current_exe()?)?.modified()?;
    for source in sources {
        let files = if source.is_dir() {
            fs::read_dir(source)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?
        } else {
            vec![source.to_path_buf()]
        };
        for file in files {
            newest = newest.max(fs::metadata(file)?.modified()?);
        }
    }
    Ok(made < newest)
}

fn python_tool() -> Result<PathBuf> {
    let (name, version) = PYTHON;
    provide(name, version, &format!("bin/{name}"), |folder| {
        let python = find("python3").context("there is no `python3`\nhint: apt-get install python3 python3-venv")?;
        run(Command::new(python).args(["-m", "venv"]).arg(folder))
            .context("cannot make a virtual environment\nhint: apt-get install python3-venv")?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(Command::new(folder.join("bin/python")).args(pip).arg(format!("{name}=={version}")))
    })
}

fn javascript_tool() -> Result<PathBuf> {
    let (name, version) = JAVASCRIPT;
    provide(name, version, &format!("node_modules/.bin/{name}"), |folder| {
        let npm = find("npm").context("there is no `npm`\nhint: apt-get install nodejs npm")?;
        let mut install = Command::new(npm);
        install.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]).arg(folder);
        run(install.arg(format!("{name}@{version}")))
    })
}

/// The program of a tool in the cache, installed there first if it is missing. It stays where it was installed, since
/// virtual environments know their own path.
fn provide(name: &str, version: &str, program: &str, install: impl Fn(&Path) -> Result<()>) -> Result<PathBuf> {
    let locked = Locked::open(&format!("{name}-{version}"))?;
    let done = locked.folder().join("installed");
    let folder = locked.folder().join("tool");
    if !done.exists() {
        say(&format!("fetching {name} {version}"));
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        fs::create_dir_all(&folder)?;
        install(&folder).with_context(|| format!("cannot install {name} {version}"))?;
        fs::write(&done, "")?;
    }
    Ok(folder.join(program))
}
