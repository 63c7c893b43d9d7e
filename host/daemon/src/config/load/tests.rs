//! The bounds of settings: what just fits is taken, what does not is told by its key.

use super::*;

/// What is told of a configuration; nothing of one that is taken.
fn told(text: &str) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    load(file.path()).map_or_else(|findings| findings.to_string(), |_| String::new())
}

fn just_fits(text: &str) {
    assert_eq!(told(text), "", "{text}");
}

#[test]
fn a_file_has_four_mebibytes_at_most() {
    for (bytes, fits) in [(4_194_304, true), (4_194_305, false), (5_000_000, false)] {
        let told = told(&"#".repeat(bytes));
        assert_eq!(told.is_empty(), fits, "{told}");
        assert!(fits || told.contains(&format!("has {bytes} bytes; the most is 4194304")), "{told}");
    }
}

#[test]
fn documents_and_texts_are_kept_between_their_bounds() {
    for (name, least, most) in [
        ("payload", 2, 16_777_216),
        ("result", 2, 16_777_216),
        ("progress", 2, 16_777_216),
        ("error", 2048, 1_048_576),
        ("log_tail", 2048, 1_048_576),
    ] {
        let set = |bytes: u32| format!("[limits]\n{name} = \"{bytes}B\"\n");
        just_fits(&set(least));
        just_fits(&set(most));
        for wrong in [least - 1, most + 1] {
            let told = told(&set(wrong));
            assert!(
                told.contains(&format!("limits.{name}: {wrong} bytes are not between {least} and {most}")),
                "{told}"
            );
        }
    }
}

#[test]
fn half_a_lease_is_longer_than_two_heartbeats() {
    let set = |lease: &str| format!("[worker]\nheartbeat_interval = \"15s\"\nlease = \"{lease}\"\n");
    just_fits(&set("60s 10ms"));
    assert!(told(&set("60s")).contains("worker.lease: half the lease (30s) is not longer than two heartbeats (30s)"));
}

#[test]
fn times_slots_and_memory_have_bounds() {
    for fits in [
        "[worker]\npoll_interval = \"10ms\"",
        "[worker]\nslots = 1000",
        "[kinds.a]\ntimeout = \"10ms\"",
        "[[handlers]]\ncomponent = \"a.wasm\"\nmemory = \"64KiB\"",
    ] {
        just_fits(fits);
    }
    for (wrong, said) in [
        ("[worker]\npoll_interval = \"9ms\"", "worker.poll_interval: 9ms is shorter than 10ms"),
        ("[worker]\nslots = 1001", "worker.slots: 1001 items at a time are more than the 1000"),
        ("[worker]\nslots = 5000", "worker.slots: 5000 items at a time"),
        ("[kinds.a]\ntimeout = \"9ms\"", "kinds.a.timeout: 9ms is shorter than 10ms"),
        ("[[handlers]]\ncomponent = \"a.wasm\"\nmemory = \"65535B\"", "handlers[0].memory: less than 65536 bytes"),
    ] {
        assert!(told(wrong).contains(said), "{}", told(wrong));
    }
}
