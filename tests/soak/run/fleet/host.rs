//! One host: its process, and what can be done to that.

use std::fs::File;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, kill_process};
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use super::Wire;
use crate::run::book::{Book, Deed, What};
use crate::run::clock::now_ms;
use crate::run::plan::{Plan, SHUTDOWN_GRACE};

pub(crate) use rustix::process::Signal;

/// How long a start may take: components are compiled the first time, and the store may be away.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a host may take to end beside its grace: the promise is 5 s, the rest is for a busy machine.
const LEAVING: Duration = Duration::from_secs(20);

/// How long after trouble a start may still fail for it.
const TROUBLE_MS: i64 = 30_000;

/// A host of the fleet.
pub(crate) struct Host {
    pub(crate) name: String,
    /// Its way to the store, where that is not a file.
    pub(crate) wire: Option<Wire>,
    plan: Plan,
    process: Mutex<Option<Child>>,
    /// The process's number; 0 while there is none.
    pid: AtomicU32,
}

impl Host {
    pub(super) fn new(plan: &Plan, name: &str, wire: Option<Wire>) -> Host {
        Host { name: name.to_owned(), wire, plan: plan.clone(), process: Mutex::default(), pid: AtomicU32::new(0) }
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        Some(self.pid.load(Ordering::Relaxed)).filter(|pid| *pid != 0)
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.plan.folder.join(format!("{}.log", self.name))
    }

    /// Starts it and waits until it listens. A start that does not get through to a store in trouble is tried again, as
    /// a supervisor would.
    pub(crate) async fn start(&self, book: &Book) -> Result<()> {
        let began = Instant::now();
        loop {
            let mut child = self.spawn()?;
            let Some(status) = self.until_it_listens(&mut child, began).await? else {
                self.pid.store(child.id().unwrap_or(0), Ordering::Relaxed);
                *self.process.lock().await = Some(child);
                return Ok(());
            };
            let recent = |deed: &&Deed| now_ms() - deed.to_ms < TROUBLE_MS;
            let in_trouble = book.write(|pages| {
                pages.under_way > 0 || pages.deeds.iter().filter(recent).any(|deed| deed.what.explains_a_stall())
            });
            if !in_trouble || began.elapsed() > PATIENCE {
                bail!("host {} does not start ({status}): see {}", self.name, self.log().display());
            }
            sleep(Duration::from_millis(500)).await;
        }
    }

    /// Answers the status if it ended instead.
    async fn until_it_listens(&self, child: &mut Child, began: Instant) -> Result<Option<ExitStatus>> {
        // What an earlier process of this name said is before this.
        let mark = format!("pid {}", child.id().unwrap_or(0));
        loop {
            let log = String::from_utf8_lossy(&std::fs::read(self.log())?).into_owned();
            if log.rsplit_once(&mark).is_some_and(|(_, rest)| rest.contains("listening")) {
                return Ok(None);
            }
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            if began.elapsed() > PATIENCE {
                bail!("host {} does not listen: see {}", self.name, self.log().display());
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    fn spawn(&self) -> Result<Child> {
        let mut log = File::options().create(true).append(true).open(self.log())?;
        let mut command = program(&self.plan, &self.name);
        command.arg("serve").stdout(log.try_clone()?).stderr(log.try_clone()?).kill_on_drop(true);
        let child = command.spawn().context("cannot start workhost")?;
        std::io::Write::write_all(&mut log, format!("\nsoak: pid {}\n", child.id().unwrap_or(0)).as_bytes())?;
        Ok(child)
    }

    /// Sends a signal, if the process runs.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        if let Some(pid) = self.pid().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
            kill_process(pid, signal)?;
        }
        Ok(())
    }

    /// Ends it as a power cut would.
    pub(crate) async fn kill(&self, book: &Book) -> Result<()> {
        let from_ms = now_ms();
        self.signal(Signal::KILL)?;
        self.ended().await?;
        book.done(Deed { host: Some(self.name.clone()), what: What::Killed, from_ms, to_ms: now_ms() });
        Ok(())
    }

    /// Asks it to end, and waits for that. It has to end by itself, in time and without an error.
    pub(crate) async fn terminate(&self, book: &Book) -> Result<()> {
        let (from_ms, began) = (now_ms(), Instant::now());
        self.signal(Signal::TERM)?;
        let ended = timeout(SHUTDOWN_GRACE + LEAVING, self.ended()).await;
        let said = match ended {
            Ok(status) => {
                Some(status?).filter(|status| !status.success()).map(|status| format!("it ended with {status}"))
            }
            Err(_) => {
                self.signal(Signal::KILL)?;
                self.ended().await?;
                Some(format!("it had not ended after {:?}, and was killed", began.elapsed()))
            }
        };
        book.done(Deed { host: Some(self.name.clone()), what: What::Terminated, from_ms, to_ms: now_ms() });
        if let Some(said) = said {
            book.amiss("SIGTERM ends a host cleanly", None, format!("host {}, at {from_ms}: {said}", self.name));
        }
        Ok(())
    }

    async fn ended(&self) -> Result<ExitStatus> {
        let mut process = self.process.lock().await;
        let status = process.as_mut().context("the host does not run")?.wait().await?;
        self.pid.store(0, Ordering::Relaxed);
        *process = None;
        Ok(status)
    }

    /// How it ended, if it did though nobody asked it to.
    pub(crate) async fn has_ended(&self) -> Option<ExitStatus> {
        self.process.lock().await.as_mut().and_then(|child| child.try_wait().ok().flatten())
    }
}

/// The program with one of the soak's configurations.
pub(crate) fn program(plan: &Plan, configuration: &str) -> Command {
    let mut command = Command::new(&plan.program);
    command.arg("--config").arg(plan.folder.join(format!("{configuration}.toml"))).stdin(Stdio::null());
    for name in ["WORKHOST_CONFIG", "WORKHOST_FAULT", "WORKHOST_LOG", "WORKHOST_LOG_FORMAT"] {
        command.env_remove(name);
    }
    command
}
