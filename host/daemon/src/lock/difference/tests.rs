use super::*;

#[test]
fn names_cannot_speak_to_a_terminal_or_fill_the_page() {
    let hostile = format!("\u{1b}[31m\n::error::\u{202e}{}", "x".repeat(1000));
    let changes = [
        Change::HandlerAdded {
            handler: hostile.clone(),
            kinds: vec![hostile.clone()],
            capabilities: vec![hostile.clone()],
        },
        Change::CapabilityAdded { handler: hostile.clone(), capability: hostile.clone() },
        Change::ImportsAdded { handler: hostile.clone(), imports: vec![hostile.clone()] },
        Change::KindMoved { kind: hostile.clone(), from: hostile.clone(), to: hostile.clone() },
        Change::PayloadChanged {
            kind: hostile.clone(),
            change: SchemaChange::Otherwise { pointer: format!("/{hostile}") },
        },
    ];
    for change in changes {
        let said = change.to_string();
        assert!(!said.contains(['\u{1b}', '\n', '\u{202e}']) && said.len() < 800, "{said:?}");
    }
}

#[test]
fn a_long_list_is_cut_off() {
    let many: Vec<String> = (0..14).map(|n| n.to_string()).collect();
    assert_eq!(bare(&many), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more");
    assert_eq!(bare(&many[..12]), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 11");
    assert_eq!(
        (bare(&many[..1]), bare(&many[..2]), bare(&many[..3])),
        ("0".into(), "0 and 1".into(), "0, 1 and 2".into())
    );
}
