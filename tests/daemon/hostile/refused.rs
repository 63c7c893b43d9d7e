//! Guests that do not even get in.

use crate::harness::*;

/// What validation says of each guest in text format that asks for too much from its start on. Some of it the engine
/// sees before, in words of its own, when it looks whether the guest fits into its pool.
const REFUSED: &[(&str, &[&str])] = &[
    ("spin-at-load", &["describe: it did not answer within 5 s"]),
    ("large-memories", &["memory limit of 64 MiB"]),
    (
        "too-many-memories",
        &["contains 5 Wasm linear memories, which exceeds the configured maximum of 4", "limit of 4 memories"],
    ),
    (
        "large-table",
        &["minimum element size of 4000000000 which exceeds the limit of 200000", "limit of 200000 table elements"],
    ),
];

#[tokio::test]
async fn a_guest_that_asks_for_too_much_at_its_start_is_a_finding() {
    let w = Workshop::new(Store::Sqlite).await;
    for (name, words) in REFUSED {
        let component = w.write(&format!("{name}.wasm"), text::assemble(name));
        w.configure(&format!("[kinds.{name}]\n[[handlers]]\ncomponent = {component:?}\n"));
        let said = w.run_refused(&["validate"]);
        assert!(words.iter().any(|words| said.contains(words)), "{name}: {said}");
    }
}
