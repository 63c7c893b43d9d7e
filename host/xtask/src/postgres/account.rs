//! Whom the server runs as.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{is_root, read};

/// The account that a server runs as, because PostgreSQL refuses root. `None`: our own.
#[derive(Clone, Copy)]
pub(super) struct Account(Option<(u32, u32)>);

impl Account {
    /// The one to start a server with.
    ///
    /// # Errors
    /// When we are root, and there is no account with less power.
    pub(super) fn for_server() -> Result<Self> {
        if !is_root()? {
            return Ok(Self(None));
        }
        let id =
            |option: &str, user: &str| -> Result<u32> { Ok(read(Command::new("id").args([option, user]))?.parse()?) };
        for user in ["postgres", "nobody"] {
            if let (Ok(uid), Ok(gid)) = (id("-u", user), id("-g", user)) {
                return Ok(Self(Some((uid, gid))));
            }
        }
        bail!(
            "PostgreSQL does not run as root, and there is neither a user `postgres` nor `nobody`\nhint: run the tests as an ordinary user"
        )
    }

    /// Makes a command run as this account.
    pub(super) fn take_on(self, command: &mut Command) {
        if let Some((uid, gid)) = self.0 {
            command.uid(uid).gid(gid);
        }
    }

    /// Hands a file or folder over to it.
    ///
    /// # Errors
    /// When it does not exist.
    pub(super) fn own(self, path: &Path) -> Result<()> {
        let (uid, gid) = self.0.unzip();
        chown(path, uid, gid).with_context(|| format!("cannot hand {} to the server's account", path.display()))
    }
}
