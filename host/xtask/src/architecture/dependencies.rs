//! Which crate may depend on which.

use cargo_metadata::{Dependency, DependencyKind, Package};

use super::Violation;
use crate::workspace::Workspace;

/// A technology that few crates may know, by the crates that bring it in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Technology {
    Sql,
    Wasm,
    Http,
}

impl Technology {
    const ALL: [Self; 3] = [Self::Sql, Self::Wasm, Self::Http];

    /// Crates, each with those that begin with its name and a hyphen.
    fn crates(self) -> &'static [&'static str] {
        match self {
            Self::Sql => &["sqlx", "rusqlite", "libsqlite3", "tokio-postgres", "postgres", "diesel", "sea", "libsql"],
            Self::Wasm => &["wasmtime", "wasmer", "wasmi"],
            Self::Http => &["axum", "actix", "warp", "rocket", "poem", "salvo"],
        }
    }

    fn comes_with(self, dependency: &str) -> bool {
        let is_of =
            |name: &&str| dependency.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
        self.crates().iter().any(is_of)
    }
}

/// What a crate may depend on; everything else of the workspace and of the technologies it may not.
struct Wall {
    name: &'static str,
    crates: &'static [&'static str],
    technologies: &'static [Technology],
}

/// The host's crates. A new one is refused until its place is written down here.
const HOST: [Wall; 6] = [
    Wall { name: "workhost-queue", crates: &[], technologies: &[Technology::Sql] },
    // SQL for the statements that a handler is granted, on the application's databases.
    Wall { name: "workhost-runtime", crates: &[], technologies: &[Technology::Wasm, Technology::Sql] },
    Wall { name: "workhost-admin", crates: &["workhost-queue"], technologies: &[Technology::Http] },
    Wall {
        name: "workhost-daemon",
        crates: &["workhost-admin", "workhost-queue", "workhost-runtime"],
        technologies: &[],
    },
    Wall { name: "workhost", crates: &["workhost-daemon"], technologies: &[] },
    Wall { name: "xtask", crates: &[], technologies: &[] },
];

/// What becomes a component, wherever it lies: it sees the host through its imports alone.
const COMPONENT: Wall = Wall { name: "a component", crates: &["workhost-sdk"], technologies: &[] };

/// Dependencies that cross a wall, in all crates of the workspace.
pub(super) fn violations(workspace: &Workspace) -> Vec<Violation> {
    let outside_host = |package: &Package| {
        ["handlers", "tests", "examples"]
            .iter()
            .any(|folder| workspace.below(folder).any(|other| other.id == package.id))
    };
    let mut violations = Vec::new();
    for package in workspace.packages() {
        let wall = match HOST.iter().find(|wall| wall.name == package.name.as_str()) {
            Some(wall) => wall,
            None if outside_host(package) => &COMPONENT,
            None => {
                violations.push(violation(package, "is a crate without a place in the architecture: write its wall into host/xtask/src/architecture/dependencies.rs".to_owned()));
                continue;
            }
        };
        for dependency in &package.dependencies {
            violations.extend(crosses(wall, dependency).map(|what| violation(package, what)));
        }
    }
    violations
}

fn crosses(wall: &Wall, dependency: &Dependency) -> Option<String> {
    let for_tests = dependency.kind == DependencyKind::Development;
    if dependency.path.is_some() {
        // The root package's tests are the workspace's integration tests, which look behind every wall.
        let allowed = wall.crates.contains(&dependency.name.as_str()) || (for_tests && wall.name == "workhost");
        return (!allowed)
            .then(|| format!("depends on {}; {} may depend on {}", dependency.name, wall.name, listed(wall.crates)));
    }
    let technology = Technology::ALL.into_iter().find(|technology| technology.comes_with(&dependency.name))?;
    let allowed = for_tests
        || (wall.name == COMPONENT.name && is_native_only(dependency))
        || wall.technologies.contains(&technology);
    (!allowed).then(|| format!("depends on {}; {technology:?} is not for {} to know", dependency.name, wall.name))
}

/// In a component's crate this serves native tests alone: it is never part of the component.
fn is_native_only(dependency: &Dependency) -> bool {
    dependency.target.as_ref().is_some_and(|target| target.to_string() == "cfg(not(target_family = \"wasm\"))")
}

fn listed(crates: &[&str]) -> String {
    if crates.is_empty() { "no crate of the workspace".to_owned() } else { format!("{} alone", crates.join(", ")) }
}

fn violation(package: &Package, what: String) -> Violation {
    Violation { place: package.manifest_path.to_string(), what: format!("{} {what}", package.name) }
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::*;

    /// The messages for a workspace in which one more line stands among a crate's dependencies.
    fn with(krate: &str, line: &str) -> Vec<String> {
        let tree = Tree::workspace();
        tree.append(&format!("{krate}/Cargo.toml"), line);
        let found = violations(&Workspace::load_at(tree.root()).unwrap());
        found.into_iter().map(|violation| violation.what).collect()
    }

    #[test]
    fn the_workspace_as_designed_breaks_no_rule() {
        assert_eq!(with("host/queue", ""), Vec::<String>::new());
    }

    #[test]
    fn each_wall_refuses_what_is_behind_it() {
        for (krate, line) in [
            ("host/queue", "wasmtime = \"48\""),
            ("host/queue", "axum = \"0.8\""),
            ("host/queue", "workhost-runtime = { path = \"../runtime\" }"),
            ("host/runtime", "workhost-queue = { path = \"../queue\" }"),
            ("host/runtime", "axum = \"0.8\""),
            ("host/admin", "sqlx = \"0.9\""),
            ("host/admin", "wasmtime = \"48\""),
            ("host/admin", "workhost-runtime = { path = \"../runtime\" }"),
            ("host/daemon", "sqlx = \"0.9\""),
            ("host/daemon", "wasmtime = \"48\""),
            ("host/daemon", "token-cleanup = { path = \"../../handlers/token-cleanup\" }"),
            ("handlers/token-cleanup", "workhost-queue = { path = \"../../host/queue\" }"),
            ("handlers/token-cleanup", "sqlx = \"0.9\""),
        ] {
            assert_eq!(with(krate, line).len(), 1, "{krate}: {line}");
        }
    }

    #[test]
    fn a_new_name_a_kin_crate_and_a_build_script_are_no_way_round() {
        for (krate, line) in [
            ("host/admin", "database = { package = \"sqlx\", version = \"0.9\" }"),
            ("host/admin", "queue = { package = \"workhost-runtime\", path = \"../runtime\" }"),
            ("host/admin", "sqlx-core = \"0.9\""),
            ("host/admin", "tokio-postgres = \"0.7\""),
            ("host/daemon", "wasmtime-wasi = { version = \"48\", optional = true }"),
            ("host/daemon", "[build-dependencies]\nsqlx = \"0.9\""),
            ("host/daemon", "[target.'cfg(unix)'.dependencies]\nrusqlite = \"0.37\""),
            ("handlers/token-cleanup", "[dev-dependencies]\nworkhost-queue = { path = \"../../host/queue\" }"),
        ] {
            assert_eq!(with(krate, line).len(), 1, "{krate}: {line}");
        }
    }

    #[test]
    fn another_crate_in_between_is_refused_by_itself() {
        let tree = Tree::workspace();
        tree.krate("host/shared", "workhost-shared", "sqlx = \"0.9\"");
        tree.append("host/admin/Cargo.toml", "workhost-shared = { path = \"../shared\" }");
        let found = violations(&Workspace::load_at(tree.root()).unwrap());
        assert!(found.iter().any(|violation| violation.what.contains("without a place")), "{found:?}");
        assert!(found.iter().any(|violation| violation.what.contains("depends on workhost-shared")), "{found:?}");
    }

    #[test]
    fn tests_may_bring_a_database_of_their_own() {
        assert!(with("host/daemon", "[dev-dependencies]\nsqlx = \"0.9\"").is_empty());
        let native = "[target.'cfg(not(target_family = \"wasm\"))'.dependencies]\nsqlx = \"0.9\"";
        assert!(with("handlers/sdk", native).is_empty());
        assert_eq!(with("host/daemon", native).len(), 1, "in the host that is no exception at all");
    }
}
