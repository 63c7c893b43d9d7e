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

#[test]
fn what_is_just_as_long_as_its_limit_fits() {
    let limits = Limits {
        payload_bytes: Some(4),
        result_bytes: 4,
        progress_bytes: 4,
        error_bytes: 4,
        kind_bytes: 4,
        actor_bytes: 4,
        scope_bytes: 4,
        delay: Duration::from_secs(4),
        batch_items: 2,
        ..Limits::default()
    };
    let document = |text: &str| Json::parse(text).unwrap();
    let item = |payload: &str| NewItem::new("kind", document(payload));
    let fits = NewItem { delay: Duration::from_secs(4), scope: Some("abcd".to_owned()), ..item("1234") };
    assert!(limits.check_new(&[fits.clone(), fits.clone()]).is_ok());
    let refused = |items: &[NewItem]| limits.check_new(items).unwrap_err().to_string();
    assert_eq!(refused(&[fits.clone(), fits.clone(), fits.clone()]), "items: 3 at once; the limit is 2");
    assert_eq!(refused(&[item("12345")]), "payload: 5 bytes; the limit is 4");
    let late = NewItem { delay: Duration::from_secs(5), ..fits.clone() };
    assert_eq!(refused(&[late]), "delay: 5 s is longer than the limit of 4 s");
    assert_eq!(refused(&[NewItem { scope: Some("abcde".to_owned()), ..fits }]), "scope: 5 bytes; the limit is 4");
    assert_eq!(limits.error_text("1234"), "1234");
    assert_eq!(limits.result(&document("1234")).as_str(), "1234");
    assert_eq!(limits.progress(&document("1234")).unwrap().as_str(), "1234");
    assert!(limits.progress(&document("12345")).is_none());
    assert!(limits.check_actor(None).is_ok() && limits.check_actor(Some("abcd")).is_ok());
    assert!(limits.check_actor(Some("abcde")).is_err());
    assert!(
        limits.check_words("target", "abcdefghijkl").is_ok() && limits.check_words("target", "abcdefghijklm").is_err()
    );
}
