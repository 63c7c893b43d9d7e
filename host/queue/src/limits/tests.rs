use super::*;

#[test]
fn a_long_error_is_cut_at_a_character_and_says_its_length() {
    let limits = Limits { error_bytes: 64, ..Limits::default() };
    let stored = limits.error_text(&"é".repeat(50));
    assert!(stored.len() <= 64 && stored.starts_with("éé"), "{stored}");
    assert!(stored.ends_with("… (cut: the text has 100 bytes)"), "{stored}");
    assert_eq!(limits.error_text("short\0"), "short\u{fffd}");
}

#[test]
fn of_a_long_log_the_end_is_kept_from_a_character_on() {
    let limits = Limits { log_tail_bytes: 64, ..Limits::default() };
    let stored = limits.log_tail(&format!("{}end", "é".repeat(50)));
    assert!(stored.len() <= 64 && stored.ends_with("éend"), "{stored}");
    assert!(stored.starts_with("(cut: the last of 103 bytes) …éé"), "{stored}");
    assert_eq!(limits.log_tail(&"x".repeat(64)), "x".repeat(64));
    let no_room = Limits { log_tail_bytes: 3, ..Limits::default() };
    assert_eq!(no_room.log_tail(&"x".repeat(64)), "(cut: the last of 64 bytes) …");
}

#[test]
fn a_result_that_is_too_long_leaves_a_note() {
    let limits = Limits { result_bytes: 10, ..Limits::default() };
    let kept = limits.result(&Json::parse("[1]").unwrap());
    assert_eq!(kept.as_str(), "[1]");
    let note = limits.result(&Json::parse("[1,2,3,4,5,6]").unwrap());
    assert!(note.as_str().contains("13 bytes; the limit is 10"), "{}", note.as_str());
}

#[test]
fn a_field_past_its_limit_is_named() {
    let limits = Limits { kind_bytes: 4, ..Limits::default() };
    let error = limits.check_new(&[NewItem::new("kinds", serde_json::json!({}).into())]).unwrap_err();
    assert_eq!(error.to_string(), "kind: 5 bytes; the limit is 4");
}
