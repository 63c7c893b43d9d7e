//! Files that are no component, named for what they are.

use std::path::Path;

use workhost_runtime::{Backends, Grants, Limits, LoadError, Runtime};

use crate::guest::{Guest, refusal, runtime, words};

#[tokio::test]
async fn what_is_no_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let load = async |path: &Path| {
        runtime().load(path, Grants::default(), &Backends::default()).await.err().unwrap().to_string()
    };
    assert!(load(&dir.path().join("gone.wasm")).await.ends_with("gone.wasm does not exist"));
    assert!(load(dir.path()).await.ends_with("is a directory, not a file"));
    assert!(load(Path::new("/dev/null")).await.ends_with("is a device, not a file"));
    let socket = dir.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(load(&socket).await.ends_with("is a socket, not a file"));
}

#[tokio::test]
async fn a_fifo_is_named_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.is_ok_and(|status| status.success()), "no mkfifo");
    let error = runtime().load(&fifo, Grants::default(), &Backends::default()).await.err().unwrap();
    assert!(error.to_string().ends_with("is a FIFO, not a file"), "{error}");
}

#[tokio::test]
async fn wrong_content_is_named() {
    assert!(words(b"").await.ends_with("is empty"));
    assert!(words(b"\x7fELF\x02\x01\x01").await.contains("is an ELF file"));
    assert!(words(b"PK\x03\x04").await.contains("is something else"));
    assert!(words(&wat::parse_str("(module)").unwrap()).await.contains("is a core module"));
    assert!(words(b";; a comment\n(component)").await.contains("text format"));
    assert!(words(b" (module)").await.contains("text format"));
    assert!(words("\u{feff}(; a\ncomment ;) ;; and another\n(module)".as_bytes()).await.contains("text format"));
    assert!(words(b"(; only a comment ;)").await.contains("is something else"));
    assert!(words(b"\0asm\x02\0\x01\0").await.contains("unknown version"));
    assert!(words(b"\0asm").await.contains("it ends after 4 bytes"));
}

#[tokio::test]
async fn precompiled_code_is_refused() {
    let engine = wasmtime::Engine::default();
    let machine_code = engine.precompile_component(&wat::parse_str("(component)").unwrap()).unwrap();
    assert!(words(&machine_code).await.contains("precompiled machine code"));
}

#[tokio::test]
async fn a_component_cut_off_anywhere_is_truncated() {
    let whole = Guest::default().component();
    for tenth in 1..10 {
        let error = refusal(&whole[..whole.len() * tenth / 10]).await;
        assert!(matches!(error, LoadError::Truncated { .. }), "{tenth}: {error}");
    }
}

#[tokio::test]
async fn a_file_that_is_too_large_is_not_read() {
    let runtime = Runtime::new(Limits { attempts: 1, component_bytes: 1024, ..Limits::default() }).unwrap();
    let error = Guest::default().load_with(&runtime, Grants::default()).await.err().unwrap();
    assert!(error.to_string().ends_with("is larger than 1 KiB"), "{error}");
}

#[tokio::test]
async fn what_this_host_does_not_offer_is_named() {
    let texts = [
        "(component (type (stream u8)))",
        "(component (type (future string)))",
        "(component (type (func async (param \"a\" string))))",
    ];
    for text in texts {
        let words = words(&wat::parse_str(text).unwrap()).await;
        assert!(words.ends_with("uses async functions, streams or futures, which this host does not offer"), "{words}");
    }
    let memory64 = words(&wat::parse_str("(component (core module (memory i64 1)))").unwrap()).await;
    assert!(
        memory64.ends_with("uses a part of WebAssembly that is off here, which this host does not offer"),
        "{memory64}"
    );
}

#[tokio::test]
async fn random_bytes_behind_a_right_beginning_are_no_component() {
    // Of each length, the same ones each time.
    for length in 2..200_u32 {
        let noise = (0..length).map(|n| (n.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]);
        let bytes: Vec<u8> = b"\0asm\x0d\0\x01\0".iter().copied().chain(noise).collect();
        let error = refusal(&bytes).await;
        assert!(matches!(error, LoadError::Truncated { .. } | LoadError::Invalid { .. }), "{length}: {error}");
        let noise: Vec<u8> = bytes[8..].to_vec();
        assert!(matches!(refusal(&noise).await, LoadError::NotAComponent { .. }), "{length}");
    }
}
