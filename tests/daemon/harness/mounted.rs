//! The program in a place of its own.

use std::process::{Command, Output};

use super::{Workshop, left_out};

/// Runs the program with something mounted that nobody else sees. Permissions would not do: they do not bind root.
pub(crate) struct Mounted {
    unshare: &'static [&'static str],
    mount: String,
}

impl Mounted {
    /// `None` where the machine allows no mounts, as in some containers.
    pub(crate) fn new(mount: &str) -> Option<Mounted> {
        let ways: [&[&str]; 2] = [&["unshare", "--mount"], &["unshare", "--map-root-user", "--mount"]];
        for unshare in ways {
            let tried = Command::new(unshare[0]).args(&unshare[1..]).args(["sh", "-c", mount]).output();
            if tried.is_ok_and(|output| output.status.success()) {
                return Some(Mounted { unshare, mount: mount.to_owned() });
            }
        }
        left_out("this machine allows no mounts");
        None
    }

    /// Runs the program to its end, and then a shell command in the same place.
    pub(crate) fn run(&self, w: &Workshop, arguments: &[&str], after: &str) -> Output {
        let shell = format!("{} && \"$0\" \"$@\" && {after}", self.mount);
        w.run_under(&[self.unshare, &["sh", "-c", &shell]].concat(), arguments)
    }
}
