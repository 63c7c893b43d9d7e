//! Compiled components are kept, and a start with a warm cache compiles nothing.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Output;

use crate::harness::*;

/// A workshop with the guest `echo` and a cache of its own.
async fn workshop() -> Workshop {
    let w = Workshop::new(Store::Sqlite).await;
    w.configure(&format!("[runtime]\ncache = \"compiled\"\n{}", guest("echo", "")));
    w
}

/// The entries of the cache with their inodes. One that is written again has another.
fn entries(w: &Workshop) -> BTreeMap<String, u64> {
    let Ok(files) = std::fs::read_dir(w.path("compiled")) else { return BTreeMap::new() };
    let entry = |file: std::io::Result<std::fs::DirEntry>| {
        let file = file.unwrap();
        (file.file_name().into_string().unwrap(), file.metadata().unwrap().ino())
    };
    files.map(entry).filter(|(name, _)| name != "secret").collect()
}

/// What `validate` does with the components, by its log: how many it compiled, and how many it took from the cache.
fn counts(w: &Workshop) -> (usize, usize) {
    let log = said(&w.run(&["validate", "--log", "workhost_runtime=debug"]));
    (log.matches(" compiled component=").count(), log.matches(" compiled code from the cache component=").count())
}

/// All that a program said, which must have ended well.
fn said(output: &Output) -> String {
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && !said.contains("panicked"), "{said}");
    said
}

#[tokio::test]
async fn only_the_first_command_compiles() {
    let w = workshop().await;
    assert_eq!(counts(&w), (1, 0));
    assert_eq!(counts(&w), (0, 1));
}

/// Each command fills an empty cache, and leaves a full one as it is.
#[tokio::test]
async fn serve_enqueue_and_validate_use_one_cache() {
    let w = workshop().await;
    let commands: [(&str, &dyn Fn()); 3] = [
        ("serve", &|| w.serve().stop()),
        ("enqueue", &|| drop(w.run_ok(&["enqueue", "echo", "--payload", "{\"message\": \"hi\"}"]))),
        ("validate", &|| drop(w.run_ok(&["validate"]))),
    ];
    for (filler, fill) in &commands {
        let _ = std::fs::remove_dir_all(w.path("compiled"));
        fill();
        let kept = entries(&w);
        assert_eq!(kept.len(), 1, "{filler}");
        for (command, run) in &commands {
            run();
            assert_eq!(entries(&w), kept, "{command} after {filler}");
        }
    }
}

#[tokio::test]
async fn a_damaged_entry_is_compiled_again_and_told_of() {
    let w = workshop().await;
    assert_eq!(counts(&w), (1, 0));
    let (name, _) = entries(&w).pop_first().unwrap();
    let entry = w.path("compiled").join(name);
    let mut bytes = std::fs::read(&entry).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&entry, bytes).unwrap();
    let said = said(&w.run(&["validate"]));
    assert!(said.contains("it is damaged") && said.contains("is valid"), "{said}");
    assert_eq!(counts(&w), (0, 1));
}

#[tokio::test]
async fn a_folder_that_others_may_write_is_told_of_and_does_not_keep_a_daemon_from_starting() {
    let w = workshop().await;
    std::fs::create_dir(w.path("compiled")).unwrap();
    std::fs::set_permissions(w.path("compiled"), std::fs::Permissions::from_mode(0o777)).unwrap();
    w.serve().stop();
    assert!(w.log().contains("others may write the folder") && w.log().contains("hint: "), "{}", w.log());
    assert_eq!(std::fs::read_dir(w.path("compiled")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_disk_that_is_full_costs_the_cache_alone() {
    let w = workshop().await;
    std::fs::create_dir(w.path("compiled")).unwrap();
    // The secret fits, and the beginning of an entry.
    let mount = format!("mount -t tmpfs -o size=16k,mode=700 none '{}'", w.path("compiled").display());
    let list = format!("ls -A '{}'", w.path("compiled").display());
    let Some(full) = Mounted::new(&mount) else { return };
    let said = said(&full.run(&w, &["validate"], &list));
    assert!(said.contains("compiled code cannot be written to") && said.contains("No space left"), "{said}");
    assert!(said.contains("is valid"), "{said}");
    assert!(said.contains("secret") && !said.contains("unfinished"), "something half written is left: {said}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_read_all_the_same() {
    let w = workshop().await;
    assert_eq!(counts(&w), (1, 0));
    let folder = w.path("compiled").display().to_string();
    let mount = format!("mount --bind '{folder}' '{folder}' && mount -o remount,bind,ro '{folder}'");
    let Some(read_only) = Mounted::new(&mount) else { return };
    let validate = ["validate", "--log", "workhost_runtime=debug"];
    assert!(said(&read_only.run(&w, &validate, "true")).contains("compiled code from the cache"));
    // Nor can what is not there yet be kept.
    w.configure(&format!("[runtime]\ncache = \"compiled\"\n{}", guest("fail", "")));
    let said = said(&read_only.run(&w, &validate, "true"));
    assert_eq!(said.matches("compiled code cannot be written to").count(), 1, "{said}");
    assert_eq!(entries(&w).len(), 1);
}

#[tokio::test]
async fn without_a_cache_nothing_is_kept() {
    let w = workshop().await;
    w.configure(&format!("[runtime]\ncache = false\n{}", guest("echo", "")));
    assert_eq!(counts(&w), (1, 0));
    assert_eq!(counts(&w), (1, 0));
    assert!(!w.path("compiled").exists());
}
