//! The second way: rustup fetches the target, as on an ordinary user's machine.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::{TARGET, sysroot};
use crate::cache::Locked;
use crate::process::{find, forget_outer_build, say};

/// How long rustup may take: generous for 25 MB, and an end where a network swallows packets.
const PATIENCE: Duration = Duration::from_secs(300);

/// Adds the target to the active toolchain, and returns its folder.
///
/// # Errors
/// When there is no rustup, it cannot fetch the target, or what it fetched builds no component.
pub(super) fn provide(cache: &Locked) -> Result<PathBuf> {
    if find("rustup").is_none() {
        bail!("`rustup` is not on the PATH");
    }
    say(&format!("rustup target add {TARGET}"));
    let mut rustup = Command::new("rustup");
    forget_outer_build(&mut rustup);
    rustup
        .args(["target", "add", TARGET])
        // One attempt: where the server is out of reach, the next way should get its turn soon.
        .env("RUSTUP_MAX_RETRIES", "0")
        .env("RUSTUP_DOWNLOAD_TIMEOUT", "20")
        .stdin(Stdio::null())
        // stdout is for the toolchain's folder alone.
        .stdout(std::io::stderr());
    let mut running = rustup.spawn().context("cannot start `rustup`")?;
    let started = Instant::now();
    loop {
        match running.try_wait()? {
            Some(status) if status.success() => return sysroot::provide(cache),
            Some(status) => bail!("`rustup target add {TARGET}` failed ({status})"),
            None if started.elapsed() > PATIENCE => {
                running.kill()?;
                running.wait()?;
                bail!("`rustup target add {TARGET}` did not finish within {} seconds", PATIENCE.as_secs());
            }
            None => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}
