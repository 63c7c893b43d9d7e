//! A component whose digest is pinned is that one, or nothing of it is compiled.

use std::fs;

use crate::harness::*;

/// A workshop with the guest `echo`, a cache of its own, and this pin.
async fn pinned(digest: &str) -> Workshop {
    let w = Workshop::new(Store::Sqlite).await;
    fs::copy(component("guests/echo"), w.path("echo.wasm")).unwrap();
    pin(&w, digest);
    w
}

fn pin(w: &Workshop, digest: &str) {
    w.configure(&format!(
        "[runtime]\ncache = \"compiled\"\n[kinds.echo]\n[[handlers]]\ncomponent = \"echo.wasm\"\ndigest = {digest:?}\n"
    ));
}

/// The digest of a file by another program than workhost.
fn sha256(path: &std::path::Path) -> String {
    let output = std::process::Command::new("sha256sum").arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    format!("sha256:{}", text.split_whitespace().next().unwrap())
}

#[tokio::test]
async fn a_component_that_is_the_pinned_one_is_taken() {
    let w = pinned(&sha256(component("guests/echo").as_ref())).await;
    for command in [&["validate"][..], &["validate", "--offline"]] {
        w.run_ok(command);
    }
    w.serve().stop();
}

#[tokio::test]
async fn of_another_one_nothing_is_compiled_or_run_and_both_digests_are_named() {
    let (pinned_digest, found) = (format!("sha256:{}", "0f".repeat(32)), sha256(component("guests/echo").as_ref()));
    let w = pinned(&pinned_digest).await;
    let debug = ["--log", "workhost_runtime=debug"];
    for command in [&["validate"][..], &["validate", "--offline"], &["serve"]] {
        let said = w.run_refused(&[command, &debug].concat());
        assert!(said.contains(&format!("echo.wasm has the digest {found}, and {pinned_digest} is pinned")), "{said}");
        assert!(said.contains("handlers[0].digest: ") && said.contains("[digest-mismatch]"), "{said}");
        assert!(
            said.contains(&format!(
                "hint: put the pinned build back; or look at what this one is, and pin it: digest = \"{found}\""
            )),
            "{said}"
        );
        assert!(said.contains("workhost.toml:") && said.contains("1 finding") && !said.contains("compiled"), "{said}");
    }
    assert!(!w.path("compiled").exists());
    // Nor is one taken from the cache.
    pin(&w, &found);
    w.run_ok(&["validate"]);
    pin(&w, &pinned_digest);
    let said = w.run_refused(&["validate", "--log", "workhost_runtime=debug"]);
    assert!(said.contains("digest-mismatch") && !said.contains("compiled"), "{said}");
}

#[tokio::test]
async fn one_byte_more_is_another_component() {
    let w = pinned(&sha256(component("guests/echo").as_ref())).await;
    // An empty custom section, which changes nothing of what it does.
    let bytes = [fs::read(w.path("echo.wasm")).unwrap(), b"\0\x02\x01x".to_vec()].concat();
    w.write("echo.wasm", bytes);
    assert!(w.run_refused(&["validate"]).contains("[digest-mismatch]"));
}

#[tokio::test]
async fn what_is_no_digest_is_told_with_its_line_and_what_was_expected() {
    for wrong in ["", "sha256:", "0f0f", "sha512:0f", &format!("sha256:{}", "xy".repeat(32))] {
        let w = pinned(wrong).await;
        let said = w.run_refused(&["validate"]);
        assert!(said.contains("handlers[0].digest: ") && said.contains("is no digest: expected `sha256:`"), "{said}");
        let line = 1 + fs::read_to_string(w.path("workhost.toml"))
            .unwrap()
            .lines()
            .position(|line| line.starts_with("digest"))
            .unwrap();
        assert!(said.contains(&format!("workhost.toml:{line}: ")), "{said}");
    }
}
