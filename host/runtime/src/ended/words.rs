//! A trap, told for people.

use wasmtime::WasmBacktrace;

/// What happened, by the guest's own words if it left any, and where.
pub(super) fn trap(error: &wasmtime::Error, stderr: &str) -> String {
    let mut message = own_words(stderr).unwrap_or_default();
    if !message.is_empty() {
        message.push('\n');
    }
    message.push_str(&error.root_cause().to_string());
    if let Some(frames) = error.downcast_ref::<WasmBacktrace>().map(frames)
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

/// The innermost frames of the handler's own, demangled, one per line.
fn frames(backtrace: &WasmBacktrace) -> String {
    const MOST: usize = 24;
    let all = backtrace.to_string();
    let frames = all.lines().skip(1).filter(|line| !line.starts_with("note:")).map(without_hashes);
    let frames: Vec<String> = frames.skip_while(|frame| is_machinery(frame)).collect();
    let mut shown = frames[..frames.len().min(MOST)].join("\n");
    if frames.len() > MOST {
        shown.push_str(&format!("\n  … {} more", frames.len() - MOST));
    }
    shown
}

/// Whether a frame is Rust's own way from a panic to its end, the same for each panic.
pub(super) fn is_machinery(frame: &str) -> bool {
    let parts =
        ["!abort", "::process::abort", "abort_internal", "::panicking::", "__rust_", "rust_panic", "rust_begin_unwind"];
    parts.iter().any(|part| frame.contains(part))
}

/// A demangled name without the hashes of its crates: `core[8c7319a3ae9cde13]::fmt` becomes `core::fmt`.
pub(super) fn without_hashes(frame: &str) -> String {
    let mut rest = frame;
    let mut short = String::new();
    while let Some((before, after)) = rest.split_once('[') {
        short.push_str(before);
        rest = match after.split_once(']') {
            Some((hash, tail)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => tail,
            _ => {
                short.push('[');
                after
            }
        };
    }
    short + rest
}
