//! The folder with everything in it, and the daemon that runs there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::{database, files};

/// How long the daemon may take to start: it compiles three components.
const START: Duration = Duration::from_secs(120);

/// A scope, and what there is to crawl in it.
pub(crate) struct Scope {
    pub(crate) name: String,
    pub(crate) files: u64,
    folder: PathBuf,
}

impl Scope {
    /// The scope of a folder, by the folder's name.
    pub(crate) fn of(folder: PathBuf) -> Result<Scope> {
        let folder = folder.canonicalize().with_context(|| format!("{} cannot be crawled", folder.display()))?;
        ensure!(folder.is_dir(), "{} is no folder", folder.display());
        let name = folder.file_name().map_or("root".into(), |name| name.to_string_lossy().into_owned());
        Ok(Scope { name, files: files::count(&folder), folder })
    }
}

/// The demonstration's folder.
pub(crate) struct Scene {
    folder: PathBuf,
    program: PathBuf,
    pub(crate) scopes: Vec<Scope>,
    /// One demonstration at a time in one folder.
    _lock: fs::File,
}

impl Scene {
    /// Makes the folder anew: links to the made or given folders, databases, configuration.
    pub(crate) async fn prepare(folder: &Path, components: &Path, program: &Path, dirs: &[PathBuf]) -> Result<Scene> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let lock = fs::File::create(folder.join("lock"))?;
        ensure!(lock.try_lock().is_ok(), "another demonstration runs in {}: wait for it, or end it", folder.display());
        clear(folder)?;
        fs::create_dir_all(folder.join("files")).with_context(|| format!("cannot make {}", folder.display()))?;
        let folder = folder.canonicalize()?;
        let scopes = match dirs {
            [] => files::make(&folder.join("made"))?,
            dirs => dirs.iter().cloned().map(Scope::of).collect::<Result<Vec<_>>>()?,
        };
        for scope in &scopes {
            std::os::unix::fs::symlink(&scope.folder, folder.join("files").join(&scope.name))
                .with_context(|| format!("two folders of the name `{}` cannot be two scopes", scope.name))?;
        }
        database::create(&folder.join("app.db")).await?;
        let text = include_str!("workhost.toml")
            .replace("{components}", &components.canonicalize()?.display().to_string())
            .replace("{crawl_statements}", database::CRAWL_STATEMENTS);
        fs::write(folder.join("workhost.toml"), text)?;
        Ok(Scene { folder, program: program.to_owned(), scopes, _lock: lock })
    }

    /// The queue's database.
    pub(crate) fn store(&self) -> PathBuf {
        self.folder.join("workhost.db")
    }

    /// The application's database.
    pub(crate) fn app(&self) -> PathBuf {
        self.folder.join("app.db")
    }

    /// What the daemon says.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("workhost.log")
    }

    /// The `workhost` command line for this scene, as a person would type it.
    pub(crate) fn command_line(&self) -> String {
        format!("{} --config {}", self.program.display(), self.folder.join("workhost.toml").display())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--config").arg(self.folder.join("workhost.toml")).stdin(Stdio::null());
        command
    }

    /// Has the registry checked as CI has it checked.
    pub(crate) fn validate(&self) -> Result<()> {
        let status = self.command().args(["validate", "--strict", "--format", "github"]).status()?;
        ensure!(status.success(), "the registry of this repository's handlers is not valid");
        Ok(())
    }

    /// Starts the daemon and waits until it listens.
    pub(crate) fn serve(&self) -> Result<Daemon> {
        let log = fs::File::create(self.log())?;
        let child = self.command().arg("serve").stdout(log.try_clone()?).stderr(log).spawn();
        let child = child.with_context(|| format!("cannot start {}", self.program.display()))?;
        let mut daemon = Daemon { child, log: self.log() };
        let begun = Instant::now();
        while !fs::read_to_string(self.log())?.contains("listening") {
            daemon.check()?;
            ensure!(begun.elapsed() < START, "the daemon does not start: see {}", self.log().display());
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(daemon)
    }

    /// Puts the crawl of a scope into the queue, as an application would from its command line.
    pub(crate) fn enqueue_crawl(&self, scope: &str) -> Result<()> {
        let output = self.command().args(["enqueue", "crawl", "--scope", scope]).output()?;
        if !output.status.success() {
            bail!("enqueueing failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        println!("workhost enqueue crawl --scope {scope}: {}", String::from_utf8_lossy(&output.stdout).trim());
        Ok(())
    }
}

/// The running daemon; ended when dropped.
pub(crate) struct Daemon {
    child: Child,
    log: PathBuf,
}

impl Daemon {
    /// Fails if it has ended.
    pub(crate) fn check(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            bail!("workhost serve ended with {status}:\n{log}");
        }
        Ok(())
    }

    /// Asks it to end, and waits.
    pub(crate) fn stop(mut self) -> Result<()> {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status()?;
        ensure!(asked.success(), "the daemon cannot be asked to end");
        let status = self.child.wait()?;
        ensure!(status.success(), "workhost serve ended with {status}: see {}", self.log.display());
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Both fail when it has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Removes what an earlier run made, and nothing else: the folder's name is given by the caller.
fn clear(folder: &Path) -> Result<()> {
    for name in [
        "workhost.db",
        "workhost.db-wal",
        "workhost.db-shm",
        "app.db",
        "app.db-wal",
        "app.db-shm",
        "workhost.log",
        "workhost.toml",
    ] {
        match fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", folder.join(name).display()));
            }
            _ => {}
        }
    }
    match fs::remove_dir_all(folder.join("files")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).context("cannot remove the links of the last run")
        }
        _ => Ok(()),
    }
}
