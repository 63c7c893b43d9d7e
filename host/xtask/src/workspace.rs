//! What cargo knows about this repository: folders, packages, targets.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::{CrateType, Metadata, MetadataCommand, Package, TargetKind};

/// The workspace that the current folder belongs to.
pub(crate) struct Workspace {
    metadata: Metadata,
}

impl Workspace {
    /// Asks cargo; dependencies outside the workspace are not resolved, so no network is needed.
    ///
    /// # Errors
    /// When the current folder is in no workspace, or a manifest is broken.
    pub(crate) fn load() -> Result<Self> {
        Self::load_at(&std::env::current_dir()?)
    }

    /// The workspace that a folder belongs to.
    ///
    /// # Errors
    /// As [`Workspace::load`].
    pub(crate) fn load_at(folder: &Path) -> Result<Self> {
        let metadata =
            MetadataCommand::new().current_dir(folder).no_deps().exec().context("cannot read the workspace")?;
        Ok(Self { metadata })
    }

    /// The folder of the workspace's `Cargo.toml`.
    pub(crate) fn root(&self) -> PathBuf {
        self.metadata.workspace_root.clone().into()
    }

    /// Where cargo builds; `CARGO_TARGET_DIR` and cargo's configuration count.
    pub(crate) fn target_dir(&self) -> PathBuf {
        self.metadata.target_directory.clone().into()
    }

    /// Where the finished components lie, under stable names.
    pub(crate) fn components_dir(&self) -> PathBuf {
        self.target_dir().join("components")
    }

    /// All packages of the workspace.
    pub(crate) fn packages(&self) -> &[Package] {
        &self.metadata.packages
    }

    /// The handlers that ship with workhost: the packages below `handlers/` that become a component.
    pub(crate) fn handlers(&self) -> Vec<&Package> {
        let is_component =
            |package: &&Package| package.targets.iter().any(|target| target.crate_types.contains(&CrateType::CDyLib));
        self.below("handlers").filter(is_component).collect()
    }

    /// The packages whose examples are components for the tests.
    pub(crate) fn guests(&self) -> Vec<&Package> {
        let has_example =
            |package: &&Package| package.targets.iter().any(|target| target.kind.contains(&TargetKind::Example));
        self.below("tests").filter(has_example).collect()
    }

    /// The names of the test targets that plain `cargo test` leaves out: they need what `cargo xtask test` sets up.
    pub(crate) fn integration_tests(&self) -> Vec<&str> {
        let targets = self.metadata.packages.iter().flat_map(|package| &package.targets);
        targets.filter(|target| target.is_test() && !target.test).map(|target| target.name.as_str()).collect()
    }

    /// The packages in a folder of the workspace, in the order of their names.
    pub(crate) fn below(&self, folder: &str) -> impl Iterator<Item = &Package> {
        let folder = self.metadata.workspace_root.join(folder);
        self.metadata.packages.iter().filter(move |package| package.manifest_path.starts_with(&folder))
    }
}
