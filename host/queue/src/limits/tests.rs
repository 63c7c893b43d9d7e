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
