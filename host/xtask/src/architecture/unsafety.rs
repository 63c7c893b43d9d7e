//! Where `unsafe` may stand: one file.

use std::path::Path;

use anyhow::Result;

use super::Violation;
use super::source::{self, Text};

/// The file that loads compiled code from the cache.
const HOME: &str = "host/runtime/src/cache/native.rs";

/// Files with `unsafe` that are not its home.
///
/// # Errors
/// When a source file cannot be read.
pub(super) fn violations(root: &Path) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    for folder in ["host", "handlers", "examples", "tests"] {
        for source in source::read(root, folder)?.into_iter().filter(|source| source.file != Path::new(HOME)) {
            let names =
                source.pieces.iter().filter(|piece| matches!(&piece.text, Text::Name(name) if name == "unsafe"));
            violations.extend(names.map(|piece| Violation {
                place: format!("{}:{}", source.file.display(), piece.line),
                what: format!("`unsafe` stands in {HOME} alone; find a way without it"),
            }));
        }
    }
    Ok(violations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::tree::Tree;

    fn with(file: &str, text: &str) -> usize {
        let tree = Tree::workspace();
        tree.write(file, text);
        violations(tree.root()).unwrap().len()
    }

    #[test]
    fn unsafe_is_found_wherever_it_is_not_at_home() {
        let text = "fn f() { unsafe { g() } }\nunsafe impl Send for A {}\n";
        assert_eq!(with("host/daemon/src/a.rs", text), 2);
        assert_eq!(with("handlers/crawl/src/a.rs", text), 2);
        assert_eq!(with(HOME, text), 0);
        assert_eq!(with("host/daemon/src/a.rs", "// unsafe\nfn f() { g(\"unsafe\") }\n"), 0);
    }
}
