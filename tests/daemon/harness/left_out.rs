//! Tests that a machine does not allow.

use std::io::Write;

/// Says that the running test is left out, and why. `cargo xtask test` counts it as skipped.
#[expect(clippy::print_stderr, reason = "a test that is left out says so")]
pub(crate) fn left_out(why: &str) {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    eprintln!("left out: {why}");
    if let Some(list) = std::env::var_os("WORKHOST_TEST_LEFT_OUT") {
        let mut list = std::fs::File::options().create(true).append(true).open(list).unwrap();
        writeln!(list, "{test}: {why}").unwrap();
    }
}
