//! Assembles guests of `tests/guests/text`.

use std::path::Path;

/// The component of that name.
pub(super) fn assemble(name: &str) -> Vec<u8> {
    let read = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/text");
        std::fs::read_to_string(folder.join(format!("{name}.wat"))).unwrap()
    };
    let case = read(name);
    let realloc = if case.contains("(export \"realloc\")") { "$case" } else { "$memory" };
    let mut options = format!("(realloc (core func {realloc} \"realloc\"))");
    if case.contains("(export \"post-return\")") {
        options += " (post-return (core func $case \"post-return\"))";
    }
    let whole = read("frame")
        .replace("OPTIONS", &options)
        .replace("KIND", name)
        .replace("LENGTH", &name.len().to_string())
        .replace("CASE", &case);
    wat::parse_str(&whole).unwrap_or_else(|error| panic!("{name}.wat: {error}"))
}
