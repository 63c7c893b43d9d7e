//! Debian packages, fetched and unpacked into a folder of ours.
//!
//! Nothing is installed: apt gets lists and a cache of its own, so that neither root nor a change
//! to the system is needed, and suites can be read that the machine does not use.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process::{find, read, run};

/// An archive and a suite in it, as in a line of `sources.list`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    uri: String,
    suite: String,
    /// The distribution's keys, where they lie in their usual place; else apt's default decides.
    keyring: Option<PathBuf>,
}

impl Source {
    /// The same archive's packages of another suite.
    pub(crate) fn in_suite(&self, suite: &str) -> Self {
        Self { suite: suite.to_owned(), ..self.clone() }
    }

    fn line(&self) -> String {
        let keys = self.keyring.iter().map(|file| format!("[signed-by={}] ", file.display())).collect::<String>();
        format!("deb {keys}{} {} main\n", self.uri, self.suite)
    }
}

/// The machine's own archives of its release; the first one is the release itself, the security
/// updates follow.
///
/// # Errors
/// When this is no Debian, or its own release is not among apt's sources.
pub(crate) fn machine_sources() -> Result<Vec<Source>> {
    for program in ["apt-get", "apt-cache", "dpkg-deb", "tar"] {
        if find(program).is_none() {
            bail!("`{program}` is not on the PATH, so this is not a Debian to take packages from");
        }
    }
    let system = fs::read_to_string("/etc/os-release").context("cannot read /etc/os-release")?;
    let codename = value(&system, "VERSION_CODENAME").context("/etc/os-release names no release (VERSION_CODENAME)")?;
    let keyring = value(&system, "ID").map(|id| PathBuf::from(format!("/usr/share/keyrings/{id}-archive-keyring.gpg")));
    let mut targets = Command::new("apt-get");
    targets.args(["indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"]);
    let sources = sources_of(&read(&mut targets)?, codename, keyring.filter(|file| file.is_file()).as_deref());
    if sources.first().is_none_or(|source| source.suite != codename) {
        bail!("apt on this machine has no source for its own release, {codename}");
    }
    Ok(sources)
}

/// A value in the text of `/etc/os-release`.
fn value<'a>(os_release: &'a str, name: &str) -> Option<&'a str> {
    let line = os_release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    line.map(|value| value.trim_matches('"'))
}

fn sources_of(targets: &str, codename: &str, keyring: Option<&Path>) -> Vec<Source> {
    let mut sources = Vec::new();
    for suite in [codename, &format!("{codename}-security")] {
        let uri = targets.lines().filter_map(|line| line.split_once(' ')).find(|(_, release)| *release == suite);
        if let Some((uri, _)) = uri {
            sources.push(Source { uri: uri.to_owned(), suite: suite.to_owned(), keyring: keyring.map(Path::to_owned) });
        }
    }
    sources
}

/// An apt whose state lies in one folder.
pub(crate) struct Apt {
    folder: PathBuf,
}

impl Apt {
    /// Makes the folder and reads the lists of the sources.
    ///
    /// # Errors
    /// When the archives are out of reach.
    pub(crate) fn new(folder: &Path, sources: &[Source]) -> Result<Self> {
        for part in ["lists/partial", "archives/partial", "packages"] {
            fs::create_dir_all(folder.join(part))?;
        }
        fs::write(folder.join("sources.list"), sources.iter().map(Source::line).collect::<String>())?;
        fs::write(folder.join("apt.conf"), configuration(folder))?;
        let apt = Self { folder: folder.to_owned() };
        run(apt.command("apt-get").args(["-q", "update"])).context("the package lists could not be fetched")?;
        Ok(apt)
    }

    /// The packages that one package names as its own needs, alternatives left out.
    ///
    /// # Errors
    /// When the package does not exist in the sources.
    pub(crate) fn depends(&self, package: &str) -> Result<Vec<String>> {
        let mut depends = self.command("apt-cache");
        depends.args(["depends", "--no-recommends", "--no-suggests", package]);
        let said = read(&mut depends).with_context(|| format!("the archives have no package {package}"))?;
        Ok(said.lines().filter_map(|line| line.trim().strip_prefix("Depends: ")).map(str::to_owned).collect())
    }

    /// The package and all that it needs and this machine lacks.
    ///
    /// # Errors
    /// When the package cannot be installed from the sources.
    pub(crate) fn missing_for(&self, package: &str) -> Result<Vec<String>> {
        let mut simulation = self.command("apt-get");
        simulation.args(["--simulate", "--no-install-recommends", "install", package]);
        let said = read(&mut simulation).with_context(|| format!("the archives have no usable {package}"))?;
        Ok(said.lines().filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next()).map(str::to_owned).collect())
    }

    /// Fetches packages and returns their files.
    ///
    /// # Errors
    /// When one does not exist or cannot be fetched.
    pub(crate) fn download(&self, packages: &[String]) -> Result<Vec<PathBuf>> {
        let into = tempfile::Builder::new().tempdir_in(self.folder.join("packages"))?.keep();
        run(self.command("apt-get").args(["-q", "download"]).args(packages).current_dir(&into))?;
        let mut files = fs::read_dir(&into)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        files.sort();
        Ok(files)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        // Its words are read by us.
        command.env("LC_ALL", "C");
        command.arg("-c").arg(self.folder.join("apt.conf"));
        command
    }
}

/// Read after the machine's own configuration, whose proxies and mirrors so still count.
fn configuration(folder: &Path) -> String {
    let here = folder.display();
    format!(
        "Dir::Etc::SourceList \"{here}/sources.list\";\n\
         Dir::Etc::SourceParts \"/dev/null\";\n\
         Dir::Etc::Preferences \"/dev/null\";\n\
         Dir::Etc::PreferencesParts \"/dev/null\";\n\
         Dir::State::Lists \"{here}/lists\";\n\
         Dir::Cache \"{here}\";\n\
         Dir::Cache::Archives \"{here}/archives\";\n\
         APT::Sandbox::User \"\";\n\
         Debug::NoLocking \"true\";\n\
         Acquire::Languages \"none\";\n\
         Acquire::Retries \"2\";\n\
         Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled \"false\";\n\
         Acquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n"
    )
}

/// Unpacks the parts of a package that match `tar_options` into a folder.
///
/// # Errors
/// When the file is no package, or the disk is full.
pub(crate) fn unpack(package: &Path, into: &Path, tar_options: &[&str]) -> Result<()> {
    let mut reader = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start `dpkg-deb`")?;
    let archive = reader.stdout.take().expect("stdout was asked to be a pipe");
    let unpacked = Command::new("tar")
        .args(["--extract", "--directory"])
        .arg(into)
        .args(tar_options)
        .stdin(archive)
        .status()
        .context("cannot start `tar`")?;
    if !reader.wait()?.success() || !unpacked.success() {
        bail!("cannot unpack {}", package.display());
    }
    Ok(())
}

/// The files in a package, as `tar` would name them.
///
/// # Errors
/// When the file is no package.
pub(crate) fn listing(package: &Path) -> Result<String> {
    read(Command::new("dpkg-deb").arg("--contents").arg(package))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_comes_before_its_security_updates_and_foreign_archives_are_left_out() {
        let targets = "https://deb.example.com/node nodistro\n\
                       http://mirror/security bookworm-security\n\
                       http://mirror/debian bookworm\n\
                       http://mirror/debian bookworm-updates\n\
                       http://second/debian bookworm\n";
        let lines = |keyring| sources_of(targets, "bookworm", keyring).iter().map(Source::line).collect::<String>();
        assert_eq!(
            lines(None),
            "deb http://mirror/debian bookworm main\ndeb http://mirror/security bookworm-security main\n"
        );
        assert!(
            lines(Some(Path::new("/k.gpg"))).starts_with("deb [signed-by=/k.gpg] http://mirror/debian bookworm main\n")
        );
    }

    #[test]
    fn the_release_is_read_with_and_without_quotes() {
        let system = "ID=debian\nVERSION_CODENAME=\"bookworm\"\n";
        assert_eq!(value(system, "VERSION_CODENAME"), Some("bookworm"));
        assert_eq!(value(system, "ID"), Some("debian"));
        assert_eq!(value("ID_LIKE=arch", "ID"), None);
    }
}
