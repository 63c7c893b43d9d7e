//! What runs before this one left: only where the guardian itself was killed, or the power went.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::server::{OWNED, PREFIX};
use crate::process::{read, say};

/// Removes the folders of runs that are over, and ends servers that still run in them.
///
/// What cannot be removed, another person's for one, is left alone.
pub(super) fn clean(temp: &Path) {
    for entry in fs::read_dir(temp).into_iter().flatten().flatten() {
        let folder = entry.path();
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_over(&folder) {
            say(&format!("removing what an earlier run left in {}", folder.display()));
            end_server(&folder);
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

/// A run holds its lock until it ends; the system lets go of it however that happens.
fn is_over(folder: &Path) -> bool {
    File::open(folder.join(OWNED)).is_ok_and(|owned| owned.try_lock().is_ok())
}

fn end_server(folder: &Path) {
    let Ok(state) = fs::read_to_string(folder.join("data/postmaster.pid")) else { return };
    let Some(id) = state.lines().next().filter(|id| id.parse::<u32>().is_ok()) else { return };
    // After a restart the number may be another program's, so its command line decides.
    let runs = || {
        read(Command::new("ps").args(["-o", "args=", "-p", id]))
            .is_ok_and(|command| command.contains(&*folder.to_string_lossy()))
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    if runs() {
        let _ = read(Command::new("kill").args(["-INT", id]));
    }
    while runs() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_run_that_still_owns_it_stays() {
        let temp = tempfile::tempdir().unwrap();
        let [alive, over, unnamed] =
            ["alive", "over", "unnamed"].map(|name| temp.path().join(format!("{PREFIX}{name}")));
        let foreign = temp.path().join("something-else");
        for folder in [&alive, &over, &unnamed, &foreign] {
            fs::create_dir(folder).unwrap();
        }
        let owned = File::create(alive.join(OWNED)).unwrap();
        owned.lock().unwrap();
        File::create(over.join(OWNED)).unwrap();
        File::create(foreign.join(OWNED)).unwrap();

        clean(temp.path());

        assert!(alive.exists(), "its run goes on");
        assert!(!over.exists(), "its run is over");
        assert!(unnamed.exists(), "its run is about to lock it");
        assert!(foreign.exists(), "it is not ours");
    }
}
