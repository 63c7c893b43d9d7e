//! A trap, told for people.

use wasmtime::WasmBacktrace;

use super::backtrace;

/// What happened, by the guest's own words if it left any, and where.
pub(super) fn trap(error: &wasmtime::Error, stderr: &str) -> String {
    let mut message = own_words(stderr).unwrap_or_default();
    if !message.is_empty() {
        message.push('\n');
    }
    message.push_str(&error.root_cause().to_string());
    if let Some(frames) = error.downcast_ref::<WasmBacktrace>().map(backtrace::frames)
        && !frames.is_empty()
    {
        message.push_str("\nbacktrace:\n");
        message.push_str(&frames);
    }
    message
}

/// A Rust panic from its place on, or else the last lines on stderr.
fn own_words(stderr: &str) -> Option<String> {
    let lines: Vec<&str> = stderr
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty() && !line.starts_with("note: run with `RUST_BACKTRACE"))
        .collect();
    if let Some(first) = lines.iter().position(|line| line.contains("panicked at ")) {
        let place = &lines[first][lines[first].find("panicked at ").unwrap_or(0)..];
        return Some([&[place], &lines[first + 1..]].concat().join("\n"));
    }
    let last = &lines[lines.len().saturating_sub(10)..];
    if last.is_empty() { None } else { Some(format!("last on stderr:\n{}", last.join("\n"))) }
}
