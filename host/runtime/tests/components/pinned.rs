//! Components whose digest is pinned.

use workhost_runtime::{Backends, ComponentFile, Grants, LoadError};

use crate::guest::runtime;

#[tokio::test]
async fn nothing_is_compiled_of_another_component_than_the_pinned_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("handler.wasm");
    // A component as far as its beginning goes: compiling it would say otherwise.
    std::fs::write(&path, b"\0asm\x0d\0\x01\0\0\x02\x01x\x0b\x01\xff").unwrap();
    let pinned = Some(format!("sha256:{}", "0f".repeat(32)).parse().unwrap());
    let load = async |digest| {
        let file = ComponentFile { path: &path, digest };
        let error = runtime().load(file, Grants::default(), &Backends::default()).await.err().unwrap();
        (error.code(), error)
    };
    let (code, error) = load(pinned).await;
    assert_eq!(code, "digest-mismatch");
    let LoadError::OtherDigest { found, .. } = error else { panic!("{error}") };
    assert_eq!(load(Some(found)).await.0, "component-invalid");
    assert_eq!(load(None).await.0, "component-invalid");
}
