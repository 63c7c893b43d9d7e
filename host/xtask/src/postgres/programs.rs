//! The programs of a PostgreSQL server: those on the machine, else Debian's, unpacked privately.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, anyhow};

use super::debian;
use crate::process::{find, folders_on_path, is_program, read};

/// The oldest major version that workhost works with, from where the queue has it too.
const OLDEST: u32 =
    match u32::from_str_radix(include_str!("../../../../migrations/postgres/oldest-server").trim_ascii_end(), 10) {
        Ok(major) => major,
        Err(_) => panic!("migrations/postgres/oldest-server holds no number"),
    };

/// A folder with `initdb` and `postgres`, and what they need to start.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    bin: PathBuf,
    major: u32,
    /// Where shared libraries lie that the system has not.
    libraries: Option<PathBuf>,
}

impl Programs {
    /// The newest PostgreSQL on this machine; where there is none that will do, Debian's, unpacked
    /// into the cache. Nothing is installed on the system, so no other server ever starts.
    ///
    /// # Errors
    /// When there is none and none can be fetched: what to install.
    pub(crate) fn provide() -> Result<Self> {
        if let Some(found) = newest(&candidates()) {
            return Ok(found);
        }
        debian::programs().map_err(|error| {
            anyhow!(
                "the tests need the programs of PostgreSQL {OLDEST} or newer (`initdb` and `postgres`); there are none, \
                 and they could not be fetched: {error:#}\n\
                 hint: install them (Debian, Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server; \
                 macOS: brew install postgresql@17), or put their folder on the PATH"
            )
        })
    }

    /// Such as `PostgreSQL 15 in /usr/lib/postgresql/15/bin`.
    pub(crate) fn described(&self) -> String {
        format!("PostgreSQL {} in {}", self.major, self.bin.display())
    }

    /// Where they lie.
    pub(crate) fn folder(&self) -> &Path {
        &self.bin
    }

    /// Where shared libraries lie that they need and the system has not.
    pub(crate) fn libraries(&self) -> Option<&Path> {
        self.libraries.as_deref()
    }

    /// One of the programs.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        // A person's settings for clients and messages in their language are not for this server.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        command.env("LC_ALL", "C");
        command
    }
}

/// Folders that may hold the programs, wherever systems put them.
fn candidates() -> Vec<PathBuf> {
    let mut folders = folders_on_path();
    if find("pg_config").is_some()
        && let Ok(bin) = read(Command::new("pg_config").arg("--bindir"))
    {
        folders.push(bin.into());
    }
    // Debian and its kin; Red Hat's; Homebrew on both kinds of Mac.
    for (parent, prefix, bin) in [
        ("/usr/lib/postgresql", "", "bin"),
        ("/usr", "pgsql-", "bin"),
        ("/opt/homebrew/opt", "postgresql@", "bin"),
        ("/usr/local/opt", "postgresql@", "bin"),
    ] {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                folders.push(entry.path().join(bin));
            }
        }
    }
    folders
}

/// The newest usable one; of equal ones the first.
fn newest(folders: &[PathBuf]) -> Option<Programs> {
    let mut best: Option<Programs> = None;
    for found in folders.iter().filter_map(|folder| usable(folder, None)) {
        if best.as_ref().is_none_or(|best| found.major > best.major) {
            best = Some(found);
        }
    }
    best
}

/// The programs in a folder, if they start and are new enough.
pub(super) fn usable(folder: &Path, libraries: Option<PathBuf>) -> Option<Programs> {
    if !is_program(&folder.join("initdb")) {
        return None;
    }
    // `initdb` looks for `postgres` beside itself, and a link in /usr/local/bin has other neighbours.
    let bin = fs::canonicalize(folder.join("initdb")).ok()?.parent()?.to_owned();
    let programs = Programs { bin, major: 0, libraries };
    let major = major(&read(programs.command("postgres").arg("--version")).ok()?)?;
    (major >= OLDEST).then_some(Programs { major, ..programs })
}

/// Of `postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)`, or `17beta1`: the major version.
fn major(version: &str) -> Option<u32> {
    let number = version.strip_prefix("postgres (PostgreSQL) ")?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn fake(folder: &Path, version: &str) -> PathBuf {
        fs::create_dir_all(folder).unwrap();
        for program in ["initdb", "postgres"] {
            let file = folder.join(program);
            fs::write(&file, format!("#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        folder.to_owned()
    }

    #[test]
    fn the_newest_version_that_is_new_enough_is_taken() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str, version: &str| fake(&temp.path().join(name), version);
        let folders = [
            at("old", "14.9"),
            at("fine", "15.13 (Debian 15.13-0+deb12u1)"),
            at("newest", "18beta1"),
            at("newer", "16.1"),
        ];
        assert_eq!(newest(&folders).unwrap().major, 18);
        assert_eq!(newest(&folders[..2]).unwrap().major, 15);
        assert!(newest(&folders[..1]).is_none(), "version 14 is too old");
    }

    #[test]
    fn a_folder_without_the_server_will_not_do() {
        let temp = tempfile::tempdir().unwrap();
        let folder = fake(temp.path(), "16.1");
        fs::remove_file(folder.join("postgres")).unwrap();
        assert!(newest(&[folder]).is_none());
    }

    #[test]
    fn a_link_leads_to_the_folder_of_the_program_itself() {
        let temp = tempfile::tempdir().unwrap();
        let real = fake(&temp.path().join("real"), "16.1");
        let links = temp.path().join("links");
        fs::create_dir(&links).unwrap();
        for program in ["initdb", "postgres"] {
            std::os::unix::fs::symlink(real.join(program), links.join(program)).unwrap();
        }
        assert_eq!(newest(&[links]).unwrap().bin, fs::canonicalize(real).unwrap());
    }
}
