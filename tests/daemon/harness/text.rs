//! Assembles guests out of text format: those of `tests/guests/text`, and such that describe what a test wants.

use std::path::Path;

use serde_json::Value;

/// A guest that cannot run.
const NOTHING: &str = "(core module $module
    (func (export \"run\") (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) (unreachable)))
    (core instance $case (instantiate $module))";

/// The component of that name; its kind is called the same.
pub(crate) fn assemble(name: &str) -> Vec<u8> {
    frame(name, "{}", &[], &read(name)).unwrap_or_else(|error| panic!("{name}.wat: {error}"))
}

/// A component of one kind with this schema. It imports `work`, `log` and folders, and these interfaces.
pub(crate) fn describing(kind: &str, schema: &Value, imports: &[&str]) -> Vec<u8> {
    frame(kind, &schema.to_string(), imports, NOTHING).unwrap()
}

fn read(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/text");
    std::fs::read_to_string(folder.join(format!("{name}.wat"))).unwrap()
}

fn frame(kind: &str, schema: &str, imports: &[&str], case: &str) -> Result<Vec<u8>, wat::Error> {
    let realloc = if case.contains("(export \"realloc\")") { "$case" } else { "$memory" };
    let mut options = format!("(realloc (core func {realloc} \"realloc\"))");
    if case.contains("(export \"post-return\")") {
        options += " (post-return (core func $case \"post-return\"))";
    }
    let imports: String = imports.iter().map(|name| format!("(import {name:?} (instance))\n")).collect();
    let escaped: String = schema.bytes().map(|byte| format!("\\{byte:02x}")).collect();
    let whole = read("frame")
        .replace("OPTIONS", &options)
        .replace("KIND", kind)
        .replace("LENGTH", &kind.len().to_string())
        .replace("BYTES", &schema.len().to_string())
        .replace("SCHEMA", &escaped)
        .replace("IMPORTS", &imports)
        .replace("CASE", case);
    wat::parse_str(&whole)
}
