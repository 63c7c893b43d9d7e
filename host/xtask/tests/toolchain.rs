//! The three ways to a toolchain, on machines made of fake programs: no network, no real compiler.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const HOST: &str = "x86_64-unknown-linux-gnu";

/// A compiler that answers what is asked of it; what it compiles is a component.
const RUSTC: &str = r#"
case "$1" in
    --print) echo "$FAKE_SYSROOT" ;;
    --version | -vV) echo "rustc 1.99.0 (fake)" ;;
    *)
        echo compiled >>"$FAKE_LOG"
        while [ "$1" != -o ]; do shift; done
        printf "$FAKE_OUTPUT" >"$2" ;;
esac
"#;

/// A machine with nothing on its `PATH` but what a test puts there.
struct Machine {
    folder: tempfile::TempDir,
    output: &'static str,
}

impl Machine {
    /// With a compiler that lacks the target.
    fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap(), output: r"\000asm\015\000\001\000" };
        machine.program("bin/rustc", RUSTC);
        machine.program("sysroot/bin/rustc", RUSTC);
        machine
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn program(&self, path: &str, body: &str) {
        self.file(path, &format!("#!/bin/sh\n{body}"));
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn file(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    /// Gives a toolchain's folder a standard library for the target.
    fn target(&self, toolchain: &str) {
        self.file(&format!("{toolchain}/lib/rustlib/wasm32-wasip2/lib/libstd-0123.rlib"), "");
    }

    /// A rustup that notes how it was called, and does something.
    fn rustup(&self, body: &str) {
        self.program("bin/rustup", &format!("echo \"rustup $*\" >>\"$FAKE_LOG\"\n{body}\n"));
    }

    fn run(&self, way: Option<&str>) -> Output {
        let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
        xtask.arg("toolchain").current_dir(self.folder.path()).env_clear();
        xtask.env("PATH", self.at("bin")).env("HOME", self.at("home")).env("WORKHOST_CACHE", self.at("cache"));
        xtask.env("FAKE_SYSROOT", self.at("sysroot")).env("FAKE_LOG", self.at("log")).env("FAKE_OUTPUT", self.output);
        if let Some(way) = way {
            xtask.env("WORKHOST_WASM_TOOLCHAIN", way);
        }
        xtask.output().unwrap()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.at("log")).unwrap_or_default()
    }
}

fn stdout(output: &Output) -> &str {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::str::from_utf8(&output.stdout).unwrap().trim_end()
}

fn failure(output: &Output) -> String {
    assert!(!output.status.success(), "it should have failed");
    assert!(output.stdout.is_empty(), "a failed run names no folder");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_compiler_that_has_the_target_is_taken_and_rustup_is_not_asked() {
    let machine = Machine::new();
    machine.target("sysroot");
    machine.rustup("");
    assert_eq!(Path::new(stdout(&machine.run(None))), machine.at("sysroot"));
    assert_eq!(machine.log(), "compiled\n");
}

#[test]
fn a_compiler_is_tried_once_and_again_when_it_is_another_one() {
    let machine = Machine::new();
    machine.target("sysroot");
    stdout(&machine.run(None));
    stdout(&machine.run(None));
    assert_eq!(machine.log(), "compiled\n");
    machine.program("bin/rustc", &RUSTC.replace("1.99.0", "1.99.1"));
    stdout(&machine.run(None));
    assert_eq!(machine.log(), "compiled\ncompiled\n");
}

#[test]
fn a_compiler_whose_output_is_no_component_is_not_taken() {
    let mut machine = Machine::new();
    machine.target("sysroot");
    machine.output = r"\000asm\001\000\000\000";
    let message = failure(&machine.run(Some("sysroot")));
    assert!(message.contains("is not a component"), "{message}");
}

#[test]
fn rustup_adds_the_target_where_the_compiler_lacks_it() {
    let machine = Machine::new();
    machine.rustup(
        "/bin/mkdir -p \"$FAKE_SYSROOT/lib/rustlib/wasm32-wasip2/lib\"\n\
         : >\"$FAKE_SYSROOT/lib/rustlib/wasm32-wasip2/lib/libstd-4567.rlib\"",
    );
    assert_eq!(Path::new(stdout(&machine.run(None))), machine.at("sysroot"));
    assert_eq!(machine.log(), "rustup target add wasm32-wasip2\ncompiled\n");
}

#[test]
fn what_rustup_calls_a_success_is_looked_at() {
    let machine = Machine::new();
    machine.rustup("");
    let message = failure(&machine.run(Some("rustup")));
    assert!(message.contains("has no standard library for wasm32-wasip2"), "{message}");
}

#[test]
fn where_no_way_leads_on_each_one_tells_what_it_lacks() {
    let machine = Machine::new();
    machine.rustup("exit 1");
    let message = failure(&machine.run(None));
    for part in ["sysroot: rustc 1.99.0", "rustup: `rustup target add", "debian: ", "hint: "] {
        assert!(message.contains(part), "`{part}` is missing: {message}");
    }
}

#[test]
fn a_forced_way_is_the_only_one_tried() {
    let machine = Machine::new();
    machine.target("sysroot");
    machine.rustup("");
    failure(&machine.run(Some("debian")));
    assert_eq!(machine.log(), "");
    let message = failure(&machine.run(Some("by-magic")));
    assert!(message.contains("by-magic") && message.contains("debian"), "{message}");
}

/// A toolchain in the cache as the third way leaves it.
fn kept(machine: &Machine) {
    let kept = "cache/wasm-toolchain/debian";
    machine.target(kept);
    machine.file(&format!("{kept}/parts.txt"), "rustc 1.99.0");
    machine.program(&format!("{kept}/bin/rustc"), RUSTC);
    machine.program(&format!("{kept}/bin/cargo"), "");
    machine.program(&format!("{kept}/lib/rustlib/{HOST}/bin/wasm-component-ld"), "");
}

#[test]
fn a_kept_toolchain_is_taken_without_a_look_at_the_archives() {
    let machine = Machine::new();
    kept(&machine);
    assert_eq!(Path::new(stdout(&machine.run(Some("debian")))), machine.at("cache/wasm-toolchain/debian"));
    assert_eq!(machine.log(), "");
}

#[test]
fn a_kept_toolchain_that_misses_a_part_is_not_taken() {
    for part in [
        "parts.txt",
        "lib/rustlib/wasm32-wasip2/lib/libstd-0123.rlib",
        "bin/cargo",
        &format!("lib/rustlib/{HOST}/bin/wasm-component-ld"),
    ] {
        let machine = Machine::new();
        kept(&machine);
        fs::remove_file(machine.at("cache/wasm-toolchain/debian").join(part)).unwrap();
        failure(&machine.run(Some("debian")));
    }
}

#[test]
fn a_failed_build_leaves_nothing_and_clears_what_a_killed_one_left() {
    let machine = Machine::new();
    for program in
        ["bin/cargo", &format!("lib/rustlib/{HOST}/bin/rust-lld"), &format!("lib/rustlib/{HOST}/bin/wasm-component-ld")]
    {
        machine.program(&format!("sysroot/{program}"), "");
    }
    // An apt that knows the machine's release and reaches no archive.
    machine.program(
        "bin/apt-get",
        ". /etc/os-release\n\
         case \"$1\" in indextargets) echo \"http://127.0.0.1/debian $VERSION_CODENAME\" ;; *) exit 100 ;; esac",
    );
    for program in ["apt-cache", "dpkg-deb", "tar"] {
        machine.program(&format!("bin/{program}"), "exit 1");
    }
    machine.file("cache/wasm-toolchain/unfinished-old/toolchain/bin/rustc", "");

    let message = failure(&machine.run(Some("debian")));

    assert!(message.contains("debian: "), "{message}");
    let left: Vec<_> =
        fs::read_dir(machine.at("cache/wasm-toolchain")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["lock"], "{message}");
}
