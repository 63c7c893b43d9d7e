//! The pooler that the tests put in front of their server: the machine's PgBouncer, else Debian's, unpacked privately.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow};

use super::debian;
use crate::cache::Locked;
use crate::process::{find, read, say};

/// A script beside the unpacked program, which starts it with the libraries that came along.
const START: &str = r#"#!/bin/sh
system=$(dirname "$0")
for folder in "$system"/usr/lib/*-linux-gnu "$system"/lib/*-linux-gnu; do
    LD_LIBRARY_PATH="$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
done
export LD_LIBRARY_PATH
exec "$system/usr/sbin/pgbouncer" "$@"
"#;

/// Where PgBouncer lies. Nothing is installed on the system, so none ever starts by itself.
///
/// # Errors
/// When there is none and none can be fetched: what to install.
pub(crate) fn provide() -> Result<PathBuf> {
    // Debian puts it where only root's PATH leads.
    let installed = [find("pgbouncer"), Some(PathBuf::from("/usr/sbin/pgbouncer"))];
    if let Some(program) = installed.into_iter().flatten().find(|program| starts(program)) {
        return Ok(program);
    }
    fetched().map_err(|error| {
        anyhow!(
            "the tests need PgBouncer; there is none, and it could not be fetched: {error:#}\n\
             hint: install it (Debian, Ubuntu: apt-get install pgbouncer; Fedora: dnf install pgbouncer; macOS: brew \
             install pgbouncer), or put its folder on the PATH"
        )
    })
}

fn fetched() -> Result<PathBuf> {
    let cache = Locked::open_for_all("pgbouncer")?;
    let finished = cache.folder().join("debian");
    let start = finished.join("start");
    if !starts(&start) {
        say("fetching PgBouncer from Debian's archives (once; nothing is installed)");
        debian::fetch(&cache, &finished, |_| Ok("pgbouncer".to_owned()))?;
        fs::write(&start, START)?;
        fs::set_permissions(&start, Permissions::from_mode(0o755))?;
    }
    starts(&start).then_some(start).context("Debian's PgBouncer does not start here")
}

fn starts(program: &Path) -> bool {
    read(Command::new(program).arg("--version")).is_ok_and(|version| version.starts_with("PgBouncer"))
}
