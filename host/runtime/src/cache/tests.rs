//! A cache in a folder, and all that can be wrong with one.

mod damage;
mod shared;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::*;
use crate::log_of::log_of;

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// A folder for a cache, an engine, and two components that differ in what they export.
struct Bench {
    dir: tempfile::TempDir,
    engine: Engine,
}

impl Bench {
    fn new() -> Bench {
        Bench { dir: tempfile::tempdir().unwrap(), engine: Engine::default() }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("compiled")
    }

    /// As a new process would open it.
    fn cache(&self) -> CompileCache {
        CompileCache::new(self.path())
    }

    fn key(&self, name: &str) -> Key {
        Key::new(&self.engine, &[name.as_bytes()[0]; 32])
    }

    fn entry(&self, name: &str) -> PathBuf {
        self.path().join(self.key(name).name())
    }

    /// Compiles the component that exports this name, and keeps it.
    fn keep(&self, cache: &CompileCache, name: &str) {
        let text =
            format!(r#"(component (component $c) (instance $i (instantiate $c)) (export "{name}" (instance $i)))"#);
        let component = Component::from_binary(&self.engine, &wat::parse_str(text).unwrap()).unwrap();
        cache.keep(&self.key(name), &component);
    }

    /// What the cached component of this name exports.
    fn find(&self, cache: &CompileCache, name: &str) -> Option<String> {
        let component = cache.find(&self.engine, &self.key(name))?;
        let mut exports =
            component.component_type().exports(&self.engine).map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
        exports.pop()
    }

    /// The files in the folder, by name.
    fn files(&self) -> Vec<String> {
        let mut files: Vec<_> = std::fs::read_dir(self.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        files
    }
}

#[test]
fn what_was_kept_is_found_by_the_next_process_and_nothing_else_is() {
    let bench = Bench::new();
    assert_eq!(bench.find(&bench.cache(), "a"), None);
    bench.keep(&bench.cache(), "a");
    assert_eq!(bench.find(&bench.cache(), "a").as_deref(), Some("a"));
    assert_eq!(bench.find(&bench.cache(), "b"), None);
}

#[test]
fn hits_and_misses_are_silent() {
    let bench = Bench::new();
    let log = log_of(|| {
        bench.find(&bench.cache(), "a");
        bench.keep(&bench.cache(), "a");
        bench.find(&bench.cache(), "a").unwrap();
    });
    assert_eq!(log, Vec::<String>::new());
}

#[test]
fn folder_and_files_are_the_owners_alone() {
    let bench = Bench::new();
    bench.keep(&bench.cache(), "a");
    assert_eq!(mode(&bench.path()), 0o700);
    assert_eq!(mode(&bench.entry("a")), 0o600);
    assert_eq!(mode(&bench.path().join("secret")), 0o600);
    assert_eq!(bench.files().len(), 2, "{:?}", bench.files());
}

#[test]
fn another_engine_finds_nothing() {
    let mut bench = Bench::new();
    bench.keep(&bench.cache(), "a");
    let mut config = wasmtime::Config::new();
    config.epoch_interruption(true);
    bench.engine = Engine::new(&config).unwrap();
    assert_eq!(bench.find(&bench.cache(), "a"), None);
}

#[test]
fn code_for_another_engine_under_this_ones_name_is_a_miss() {
    let bench = Bench::new();
    let mut config = wasmtime::Config::new();
    config.epoch_interruption(true);
    let other = Engine::new(&config).unwrap();
    let component = Component::from_binary(&other, &wat::parse_str("(component)").unwrap()).unwrap();
    bench.cache().keep(&bench.key("a"), &component);
    let log = log_of(|| assert_eq!(bench.find(&bench.cache(), "a"), None));
    assert!(log[0].contains("the engine refuses it"), "{log:?}");
}

#[test]
fn what_is_just_as_large_as_its_limit_is_kept() {
    let bench = Bench::new();
    let component = Component::from_binary(&bench.engine, &wat::parse_str("(component)").unwrap()).unwrap();
    let code = component.serialize().unwrap().len() as u64;
    CompileCache { entry_bytes: code - 1, ..bench.cache() }.keep(&bench.key("a"), &component);
    assert_eq!(bench.files(), ["secret"]);
    let cache = CompileCache { entry_bytes: code, ..bench.cache() };
    cache.keep(&bench.key("a"), &component);
    assert!(cache.find(&bench.engine, &bench.key("a")).is_some());
    let smaller = CompileCache { entry_bytes: code - 1, ..bench.cache() };
    assert!(smaller.find(&bench.engine, &bench.key("a")).is_none(), "not read either");
}

#[test]
fn what_is_too_large_is_not_kept() {
    let bench = Bench::new();
    let small = CompileCache { entry_bytes: 1000, ..bench.cache() };
    assert_eq!(log_of(|| bench.keep(&small, "a")), Vec::<String>::new());
    assert_eq!(bench.files(), ["secret"]);
    // Nor read, should somebody have put it there.
    bench.keep(&bench.cache(), "a");
    let log = log_of(|| assert_eq!(bench.find(&small, "a"), None));
    assert!(log[0].contains("larger than"), "{log:?}");
}

#[test]
fn the_folder_is_bounded_and_what_was_used_last_stays() {
    let bench = Bench::new();
    bench.keep(&bench.cache(), "a");
    let bytes = std::fs::metadata(bench.entry("a")).unwrap().len();
    let room_for_two = CompileCache { total_bytes: bytes * 5 / 2, ..bench.cache() };
    bench.keep(&room_for_two, "b");
    let set_age = |name: &str, seconds: u64| {
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds);
        std::fs::File::open(bench.entry(name)).unwrap().set_modified(then).unwrap();
    };
    set_age("a", 2000);
    set_age("b", 1000);
    // Older, but used.
    bench.find(&room_for_two, "a").unwrap();
    bench.keep(&room_for_two, "c");
    assert_eq!(bench.find(&room_for_two, "b"), None);
    assert_eq!(bench.find(&room_for_two, "a").as_deref(), Some("a"));
    assert_eq!(bench.find(&room_for_two, "c").as_deref(), Some("c"));
}
