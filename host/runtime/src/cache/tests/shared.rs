//! Folders that are not ours alone, that cannot be used, or that several processes use.

use std::os::unix::fs::{MetadataExt as _, chown};
use std::sync::Barrier;

use super::*;

/// Changes a folder that has an entry `a`; it must not be used, which is told of once, in these words.
fn unusable(words: &[&str], change: impl FnOnce(&Bench)) {
    let bench = Bench::new();
    bench.keep(&bench.cache(), "a");
    change(&bench);
    let cache = bench.cache();
    let log = log_of(|| {
        assert_eq!(bench.find(&cache, "a"), None);
        bench.keep(&cache, "a");
        bench.keep(&cache, "b");
    });
    assert_eq!(log.len(), 1, "{log:?}");
    for word in words.iter().chain(&["WARN", "hint: "]) {
        assert!(log[0].contains(word), "{word}: {log:?}");
    }
    assert!(!bench.entry("b").exists(), "it was used");
}

#[test]
fn a_folder_that_others_may_write_is_not_used() {
    for mode in [0o720, 0o702, 0o777, 0o1777] {
        unusable(&["others may write the folder", "chmod 700"], |bench| chmod(&bench.path(), mode));
    }
}

#[test]
fn a_secret_that_others_may_read_or_write_is_not_used() {
    for mode in [0o640, 0o604] {
        unusable(&["others may read it", "delete the folder"], |bench| chmod(&bench.path().join("secret"), mode));
    }
    unusable(&["others may write it"], |bench| chmod(&bench.path().join("secret"), 0o620));
}

#[test]
fn a_secret_that_is_no_secret_is_not_used() {
    unusable(&["cut off"], |bench| std::fs::write(bench.path().join("secret"), [1; 31]).unwrap());
    unusable(&["cut off"], |bench| std::fs::write(bench.path().join("secret"), []).unwrap());
    unusable(&["larger than 32 bytes"], |bench| std::fs::write(bench.path().join("secret"), [1; 33]).unwrap());
}

#[test]
fn a_path_that_is_a_file_is_not_used() {
    unusable(&["cannot be used", "a file of this name"], |bench| {
        std::fs::remove_dir_all(bench.path()).unwrap();
        std::fs::write(bench.path(), "").unwrap();
    });
}

/// Only root can give files away; for others the system's folder is another account's.
#[test]
fn a_folder_or_file_of_another_account_is_not_used() {
    let other = 65534;
    if rustix::process::geteuid().is_root() {
        unusable(&["belongs to another account"], |bench| chown(bench.path(), Some(other), None).unwrap());
        unusable(&["belongs to another account"], |bench| {
            chown(bench.path().join("secret"), Some(other), None).unwrap();
        });
        let bench = Bench::new();
        bench.keep(&bench.cache(), "a");
        chown(bench.entry("a"), Some(other), None).unwrap();
        let log = log_of(|| assert_eq!(bench.find(&bench.cache(), "a"), None));
        assert!(log[0].contains("belongs to another account"), "{log:?}");
    } else {
        let foreign = CompileCache::new("/usr");
        let log = log_of(|| assert!(foreign.open().is_none()));
        assert!(log[0].contains("belongs to another account"), "{log:?}");
    }
}

#[test]
fn many_at_once_agree_on_one_secret_and_find_each_others_entries() {
    let bench = Bench::new();
    let names = ["a", "b", "c", "d"];
    let barrier = Barrier::new(names.len() * 2);
    std::thread::scope(|scope| {
        for name in names.iter().chain(&names) {
            let (bench, barrier) = (&bench, &barrier);
            scope.spawn(move || {
                let cache = bench.cache();
                barrier.wait();
                for _ in 0..20 {
                    bench.keep(&cache, name);
                    assert_eq!(bench.find(&cache, name).as_deref(), Some(*name));
                }
            });
        }
    });
    for name in names {
        assert_eq!(bench.find(&bench.cache(), name).as_deref(), Some(name));
    }
    // Nothing unfinished is left behind.
    assert_eq!(bench.files().len(), names.len() + 1, "{:?}", bench.files());
}

#[test]
fn an_entry_is_replaced_and_never_written_over() {
    let bench = Bench::new();
    bench.keep(&bench.cache(), "a");
    let held = std::fs::File::open(bench.entry("a")).unwrap();
    bench.keep(&bench.cache(), "a");
    assert_eq!(held.metadata().unwrap().nlink(), 0);
}
