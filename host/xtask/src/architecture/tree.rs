//! A small repository in a temporary folder, to break the rules in.

use std::fs;
use std::path::Path;

/// The repository; its folder goes when this is dropped.
pub(super) struct Tree(tempfile::TempDir);

impl Tree {
    /// The crates of the design, without code, each ending in its `[dependencies]`.
    pub(super) fn workspace() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        tree.write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"host/*\", \"handlers/*\"]\n");
        tree.krate("host/queue", "workhost-queue", "sqlx = \"0.9\"");
        tree.krate("host/runtime", "workhost-runtime", "wasmtime = \"48\"\nsqlx = \"0.9\"");
        tree.krate("host/admin", "workhost-admin", "axum = \"0.8\"\nworkhost-queue = { path = \"../queue\" }");
        tree.krate("host/daemon", "workhost-daemon", "workhost-admin = { path = \"../admin\" }");
        tree.krate("host/xtask", "xtask", "");
        tree.krate("handlers/sdk", "workhost-sdk", "");
        tree.krate("handlers/token-cleanup", "token-cleanup", "workhost-sdk = { path = \"../sdk\" }");
        let component = fs::read_to_string(tree.root().join("handlers/token-cleanup/Cargo.toml")).unwrap();
        tree.write("handlers/token-cleanup/Cargo.toml", &format!("[lib]\ncrate-type = [\"cdylib\"]\n{component}"));
        tree
    }

    /// Adds a crate.
    pub(super) fn krate(&self, folder: &str, name: &str, dependencies: &str) {
        let head = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
        self.write(&format!("{folder}/Cargo.toml"), &format!("{head}[dependencies]\n{dependencies}\n"));
        self.write(&format!("{folder}/src/lib.rs"), "");
    }

    /// Writes a file, and the folders it lies in.
    pub(super) fn write(&self, file: &str, text: &str) {
        let file = self.root().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// Adds lines to a file.
    pub(super) fn append(&self, file: &str, text: &str) {
        let before = fs::read_to_string(self.root().join(file)).unwrap();
        self.write(file, &format!("{before}{text}\n"));
    }

    /// The repository's folder.
    pub(super) fn root(&self) -> &Path {
        self.0.path()
    }
}
