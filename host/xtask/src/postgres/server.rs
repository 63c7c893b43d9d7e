//! A private PostgreSQL server in a temporary folder.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rand::distr::{Alphanumeric, SampleString as _};

use super::account::Account;
use super::{Programs, leftover};
use crate::process::{read, say};

/// How the names of the servers' folders begin.
pub(super) const PREFIX: &str = "workhost-test-postgres-";

/// Held locked by the run that owns the folder, so that the next one can tell what is left over.
pub(super) const OWNED: &str = "owned";

/// How long a server may take to start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Connections: every test has a database and a few connections of its own, and tests run side by side.
const SETTINGS: [&str; 5] =
    ["jit=off", "max_connections=200", "listen_addresses=127.0.0.1", "unix_socket_directories=", "timezone=UTC"];

/// What a server is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Tests: nobody will miss its data.
    Tests,
    /// Benchmarks: a commit costs what it costs in production, and the caches are not those of a tiny machine.
    Benchmarks,
}

impl Purpose {
    fn settings(self) -> &'static [&'static str] {
        match self {
            Self::Tests => &["fsync=off", "synchronous_commit=off", "full_page_writes=off"],
            Self::Benchmarks => &["shared_buffers=2GB", "max_wal_size=8GB", "checkpoint_timeout=30min"],
        }
    }
}

/// Starts the server and ends it when the pipe from us closes: that happens however we end, also by
/// `kill -9`. Ctrl-C does not reach it, since it has a process group of its own; the tests would
/// lose their server while they still run. `$1` is the folder, the rest is the server's command.
const GUARDIAN: &str = r#"
folder=$1; shift
exec 3<&0 </dev/null
"$@" >"$folder/server.log" 2>&1 3<&- &
server=$!
{ read -r _ <&3; : >"$folder/ending"; kill -INT $server; } 2>/dev/null &
reader=$!
wait $server
code=$?
[ -e "$folder/ending" ] && exec rm -rf "$folder"
kill $reader
exit $code
"#;

/// A running server. Dropping it ends the server and removes its folder.
pub(crate) struct Server {
    guardian: Child,
    url: String,
    // After the guardian, since fields are dropped in this order and the folder is the server's.
    _folder: Folder,
}

impl Server {
    /// Starts a server on a free port of this machine alone, with a password that nobody else knows.
    ///
    /// # Errors
    /// When it does not start; the error carries the end of its log.
    pub(crate) fn start(programs: &Programs, purpose: Purpose) -> Result<Self> {
        leftover::clean(&std::env::temp_dir());
        let account = Account::for_server()?;
        let folder = Folder::new()?;
        let password = initialise(programs, account, &folder.path)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let port = free_port()?;
            let mut guardian = guard(programs, account, &folder.path, port, purpose)?;
            match folder.wait_until_ready(&mut guardian, deadline)? {
                Start::Ready => {
                    let url = format!("postgres://postgres:{password}@127.0.0.1:{port}/postgres");
                    return Ok(Self { guardian, url, _folder: folder });
                }
                // Someone took the port between our look and the server's start.
                Start::PortTaken => say(&format!("port {port} was taken meanwhile, trying another one")),
            }
        }
    }

    /// The maintenance database, as a superuser.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Closing the pipe is the sign to end; see GUARDIAN. An error has no one to go to here, and
        // the next run cleans up.
        drop(self.guardian.stdin.take());
        let _ = self.guardian.wait();
    }
}

/// How an attempt to start the server went.
enum Start {
    Ready,
    PortTaken,
}

/// The server's folder, removed when dropped.
struct Folder {
    path: PathBuf,
    _owned: File,
}

impl Folder {
    fn new() -> Result<Self> {
        let path = tempfile::Builder::new().prefix(PREFIX).tempdir()?.keep();
        // Locked before it has its name: who finds the file unlocked may take the folder for a leftover.
        let unnamed = path.join("new");
        let owned = File::create(&unnamed)?;
        owned.lock()?;
        fs::rename(unnamed, path.join(OWNED))?;
        Ok(Self { path, _owned: owned })
    }

    fn wait_until_ready(&self, guardian: &mut Child, deadline: Instant) -> Result<Start> {
        loop {
            if let Some(status) = guardian.try_wait()? {
                let log = self.log();
                if log.contains("could not bind") && Instant::now() < deadline {
                    return Ok(Start::PortTaken);
                }
                bail!("the tests' PostgreSQL ended at once ({status}):\n{log}");
            }
            // The eighth line of this file is the server's own word for its state.
            let state = fs::read_to_string(self.path.join("data/postmaster.pid")).unwrap_or_default();
            if state.lines().nth(7).is_some_and(|state| state.trim() == "ready") {
                return Ok(Start::Ready);
            }
            if Instant::now() > deadline {
                bail!("the tests' PostgreSQL is not ready after {} seconds:\n{}", PATIENCE.as_secs(), self.log());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The last lines that the server wrote.
    fn log(&self) -> String {
        let log = fs::read_to_string(self.path.join("server.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Usually gone already: the guardian removes it.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Makes the cluster, and returns the superuser's password.
fn initialise(programs: &Programs, account: Account, folder: &Path) -> Result<String> {
    let password = Alphanumeric.sample_string(&mut rand::rng(), 32);
    // The folder is readable by the server's account alone, and so is the password in it.
    let password_file = folder.join("password");
    fs::write(&password_file, &password)?;
    account.own(&password_file)?;
    account.own(folder)?;
    let mut initdb = programs.command("initdb");
    initdb
        .args(["--username=postgres", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--pwfile"])
        .arg(&password_file)
        .arg("--pgdata")
        .arg(folder.join("data"))
        .current_dir(folder);
    account.take_on(&mut initdb);
    read(&mut initdb).context("the tests' PostgreSQL cannot be set up")?;
    Ok(password)
}

/// Starts the server under its guardian.
fn guard(programs: &Programs, account: Account, folder: &Path, port: u16, purpose: Purpose) -> Result<Child> {
    let mut guardian = Command::new("/bin/sh");
    let server = programs.command("postgres");
    guardian.args(["-c", GUARDIAN, "guardian"]).arg(folder).arg(server.get_program());
    guardian.arg("-D").arg(folder.join("data")).arg("-p").arg(port.to_string());
    guardian.args(SETTINGS.iter().chain(purpose.settings()).flat_map(|setting| ["-c", setting]));
    for (name, value) in server.get_envs() {
        match value {
            Some(value) => guardian.env(name, value),
            None => guardian.env_remove(name),
        };
    }
    account.take_on(&mut guardian);
    guardian
        .current_dir(folder)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start `/bin/sh`")
}

/// A port that was free just now.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
