//! Reading a component's file, and naming what is no component for what it is.

use std::fs::{File, FileType};
use std::io::{ErrorKind, Read};
use std::path::Path;

use wasmtime::Engine;

use crate::error::LoadError;
use crate::text;

/// The first eight bytes of a component.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
/// The first eight bytes of a core module.
const MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// Reads a file of at most `limit` bytes that begins as a component does. Blocks.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, LoadError> {
    let owned = || path.to_owned();
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => LoadError::Missing { path: owned() },
        _ => LoadError::Unreadable { path: owned(), reason: error.to_string() },
    };
    // Looked at before it is opened, because opening a FIFO would wait for a writer.
    let meta = std::fs::metadata(path).map_err(failed)?;
    if let Some(what) = not_a_file(meta.file_type()) {
        return Err(LoadError::NotAFile { path: owned(), what });
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.is_empty() {
        return Err(LoadError::Empty { path: owned() });
    }
    if bytes.len() as u64 > limit {
        let limit = text::size(usize::try_from(limit).unwrap_or(usize::MAX));
        return Err(LoadError::TooLarge { path: owned(), limit });
    }
    if let Some((what, mend)) = not_a_component(&bytes) {
        return Err(LoadError::NotAComponent { path: owned(), what, mend });
    }
    if is_truncated(&bytes) {
        return Err(LoadError::Truncated { path: owned(), length: bytes.len() });
    }
    Ok(bytes)
}

/// Whether a file that begins as a component ends within its header or a section. After the header a binary is a row of
/// sections, each with a byte that names it, the length of its content in LEB128, and the content.
fn is_truncated(bytes: &[u8]) -> bool {
    let Some(mut rest) = bytes.get(COMPONENT.len()..) else { return true };
    while let Some((_, section)) = rest.split_first() {
        let (mut length, mut shift, mut digits) = (0u64, 0, 0);
        loop {
            let Some(byte) = section.get(digits) else { return true };
            length |= u64::from(byte & 0x7f) << shift;
            (digits, shift) = (digits + 1, shift + 7);
            if byte & 0x80 == 0 {
                break;
            }
            if digits == 5 {
                // No length is that long: nonsense, which the compiler names better.
                return false;
            }
        }
        let end = usize::try_from(length).ok().and_then(|length| length.checked_add(digits));
        let Some(next) = end.and_then(|end| section.get(end..)) else { return true };
        rest = next;
    }
    false
}

fn not_a_file(kind: FileType) -> Option<&'static str> {
    if kind.is_dir() {
        return Some("a directory");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return Some("a FIFO");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
    }
    if kind.is_file() { None } else { Some("a device") }
}

/// What these bytes are if not (the beginning of) a component, and the mend.
fn not_a_component(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    const BUILD: &str = "give the file that the build for wasm32-wasip2 makes";
    // First, because precompiled files are ELF files too.
    if Engine::detect_precompiled(bytes).is_some() {
        return Some(("precompiled machine code", "give the component itself; workhost compiles it"));
    }
    if bytes.starts_with(COMPONENT) || COMPONENT.starts_with(bytes) {
        return None;
    }
    Some(if bytes.starts_with(MODULE) {
        (
            "a core module",
            "build for wasm32-wasip2, or turn the module into a component with `wasm-tools component new`",
        )
    } else if bytes.starts_with(b"\0asm") {
        ("WebAssembly of an unknown version", BUILD)
    } else if bytes.starts_with(b"\x7fELF") {
        ("an ELF file (a native program or library)", BUILD)
    } else if is_text_format(bytes) {
        ("WebAssembly in text format", "turn it into a component with `wasm-tools parse`")
    } else {
        ("something else", BUILD)
    })
}

/// Whether the first form after spaces and comments is that of a component or module in text format.
fn is_text_format(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    let mut rest = head.trim_start_matches('\u{feff}').trim_start();
    loop {
        let end = if rest.starts_with(";;") {
            "\n"
        } else if rest.starts_with("(;") {
            ";)"
        } else {
            break;
        };
        rest = rest.split_once(end).map_or("", |(_, next)| next).trim_start();
    }
    let Some(form) = rest.strip_prefix('(') else {
        return false;
    };
    let form = form.trim_start();
    form.starts_with("component") || form.starts_with("module")
}
