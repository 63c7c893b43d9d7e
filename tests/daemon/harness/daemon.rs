//! The running program.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::{PATIENCE, Workshop};

/// `workhost serve`; killed when dropped.
pub(crate) struct Daemon {
    child: Child,
    pub(crate) address: SocketAddr,
}

/// How a daemon is started.
#[derive(Clone, Copy)]
pub(crate) struct Launch<'a> {
    /// Which host: it has the configuration `NAME.toml` and the log `NAME.log`.
    pub(crate) host: &'a str,
    /// More environment.
    pub(crate) env: &'a [(&'a str, &'a str)],
    /// A program that takes a command line to run, such as `ip netns exec NAME`.
    pub(crate) wrapper: &'a [&'a str],
}

impl Default for Launch<'_> {
    fn default() -> Self {
        Launch { host: "workhost", env: &[], wrapper: &[] }
    }
}

/// The program, started by another one that takes a command line to run.
pub(super) fn command_under(workshop: &Workshop, wrapper: &[&str]) -> Command {
    under(command(workshop), wrapper)
}

fn under(program: Command, wrapper: &[&str]) -> Command {
    if wrapper.is_empty() {
        return program;
    }
    let mut command = Command::new(wrapper[0]);
    command.args(&wrapper[1..]).arg(program.get_program()).args(program.get_args()).stdin(Stdio::null());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

pub(super) fn command(workshop: &Workshop) -> Command {
    command_of(workshop, "workhost")
}

/// The program with the configuration of one of several hosts.
fn command_of(workshop: &Workshop, host: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workhost"));
    command.arg("--config").arg(workshop.path(format!("{host}.toml"))).stdin(Stdio::null()).env("RUST_BACKTRACE", "1");
    // One cache of compiled components for all tests and runs, and not that of whoever runs them.
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    for name in ["CACHE_DIRECTORY", "WORKHOST_CONFIG", "WORKHOST_FAULT", "WORKHOST_LOG", "WORKHOST_LOG_FORMAT"] {
        command.env_remove(name);
    }
    command
}

impl Daemon {
    /// Starts it and waits until it listens.
    pub(super) fn start(workshop: &Workshop, launch: Launch<'_>) -> Daemon {
        let host = launch.host;
        let before = workshop.log_of(host).len();
        let log = File::options().create(true).append(true).open(workshop.path(format!("{host}.log"))).unwrap();
        let mut command = under(command_of(workshop, host), launch.wrapper);
        command.envs(launch.env.iter().copied());
        let mut child = command.arg("serve").stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let start = Instant::now();
        loop {
            let log = workshop.log_of(host);
            if let Some((_, rest)) = log[before..].split_once("address=") {
                let address = rest.split_whitespace().next().unwrap().parse().unwrap();
                return Daemon { child, address };
            }
            if let Some(status) = child.try_wait().unwrap() {
                panic!("the daemon ended with {status}:\n{log}");
            }
            assert!(start.elapsed() < PATIENCE, "the daemon does not listen:\n{log}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Waits until it has ended by itself.
    pub(crate) fn wait(mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "the daemon does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends SIGTERM and waits for the clean end.
    pub(crate) fn stop(self) {
        self.signal("TERM");
        let status = self.wait();
        assert_eq!(status.code(), Some(0), "{status}");
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it is ready to work, or until it is not.
    pub(crate) async fn until_ready(&self, ready: bool) {
        let start = Instant::now();
        loop {
            let (status, body) = self.get("/readyz");
            if (status == 200) == ready {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "readiness is not {ready}: {body}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Gets a page of the HTTP side: its status and body.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: workhost\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
