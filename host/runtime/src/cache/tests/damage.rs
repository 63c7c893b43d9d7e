//! Damage and forgery: a miss, one line in the log, and mended by the next write.

use super::*;

/// Damages the entry `a` beside an entry `b`; `a` must be a miss that is told of in these words, and then kept again.
fn miss(words: &str, damage: impl FnOnce(&Bench)) {
    let bench = Bench::new();
    bench.keep(&bench.cache(), "a");
    bench.keep(&bench.cache(), "b");
    damage(&bench);
    let cache = bench.cache();
    let log = log_of(|| assert_eq!(bench.find(&cache, "a"), None));
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(log[0].contains("WARN") && log[0].contains(words), "{log:?}");
    assert_eq!(log_of(|| bench.keep(&cache, "a")), Vec::<String>::new());
    assert_eq!(bench.find(&cache, "a").as_deref(), Some("a"));
}

/// The same, damaging nothing but the file's bytes.
fn miss_with(change: impl FnOnce(&mut Vec<u8>)) {
    miss("damaged", |bench| {
        let mut bytes = std::fs::read(bench.entry("a")).unwrap();
        change(&mut bytes);
        std::fs::write(bench.entry("a"), bytes).unwrap();
    });
}

#[test]
fn a_changed_byte_anywhere_is_a_miss() {
    for tenth in 0..=10 {
        miss_with(|bytes| {
            let at = (bytes.len() - 1) * tenth / 10;
            bytes[at] ^= 1;
        });
    }
}

#[test]
fn a_file_cut_off_anywhere_is_a_miss() {
    for tenth in 0..10 {
        miss_with(|bytes| bytes.truncate(bytes.len() * tenth / 10));
    }
    miss_with(|bytes| bytes.truncate(bytes.len() - 1));
    miss_with(|bytes| bytes.push(0));
}

#[test]
fn another_entry_under_this_name_is_a_miss() {
    miss("damaged", |bench| {
        std::fs::copy(bench.entry("b"), bench.entry("a")).unwrap();
    });
}

#[test]
fn an_entry_of_another_folder_is_a_miss() {
    miss("damaged", |bench| {
        let other = Bench::new();
        other.keep(&other.cache(), "a");
        std::fs::copy(other.entry("a"), bench.entry("a")).unwrap();
    });
}

#[test]
fn with_another_secret_all_is_a_miss() {
    miss("damaged", |bench| std::fs::write(bench.path().join("secret"), [7; 32]).unwrap());
}

#[test]
fn compiled_code_without_our_head_is_a_miss() {
    miss_with(|bytes| *bytes = bytes.split_off(entry::HEAD_BYTES));
}

#[test]
fn an_entry_that_others_may_write_is_a_miss() {
    miss("others may write it", |bench| chmod(&bench.entry("a"), 0o620));
}

#[test]
fn what_is_no_file_is_a_miss_and_not_waited_for() {
    miss("cannot be opened", |bench| {
        std::fs::rename(bench.entry("a"), bench.path().join("moved")).unwrap();
        std::os::unix::fs::symlink("moved", bench.entry("a")).unwrap();
    });
    miss("not a file", |bench| {
        std::fs::remove_file(bench.entry("a")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(bench.entry("a")).status();
        assert!(made.is_ok_and(|status| status.success()), "no mkfifo");
    });
}
