use serde_json::{Value, json};

use super::*;

/// A component: its digest, imports, and kinds with their schemas.
fn handler(digest: &str, imports: &[&str], kinds: &[(&str, Value)]) -> LockedHandler {
    LockedHandler {
        digest: digest.into(),
        contract: "0.1.0".into(),
        imports: imports.iter().map(|import| import.to_string()).collect(),
        kinds: kinds.iter().map(|(kind, schema)| (kind.to_string(), schema.clone())).collect(),
    }
}

fn lock(handlers: &[(&str, LockedHandler)]) -> Lock {
    Lock { handlers: handlers.iter().map(|(component, handler)| (component.to_string(), handler.clone())).collect() }
}

/// A lock of one component that runs the kind `walk` with any payload.
fn one(component: &str, digest: &str, imports: &[&str]) -> Lock {
    lock(&[(component, handler(digest, imports, &[("walk", json!(true))]))])
}

/// What is said of the change from one lock to another.
fn said(old: &Lock, new: &Lock) -> Vec<String> {
    differences(old, new).iter().map(|difference| difference.change.to_string()).collect()
}

const SQL: &str = "workhost:handler/sql@0.1.0";
const HTTP: &str = "wasi:http/outgoing-handler@0.2.6";
const HTTP_TYPES: &str = "wasi:http/types@0.2.6";
const STDOUT: &str = "wasi:cli/stdout@0.2.6";

#[test]
fn a_lock_does_not_differ_from_itself() {
    let lock = one("walk.wasm", "a", &[SQL, STDOUT]);
    assert_eq!(differences(&lock, &lock), []);
}

#[test]
fn a_rebuild_is_told_only_where_nothing_else_says_more() {
    assert_eq!(
        said(&one("walk.wasm", "a", &[]), &one("walk.wasm", "b", &[])),
        ["walk was rebuilt: its digest changed, its kinds and imports did not"]
    );
    assert_eq!(said(&one("walk.wasm", "a", &[]), &one("walk.wasm", "b", &[SQL])), ["walk now also asks for sql"]);
}

#[test]
fn imports_are_told_in_the_words_of_their_grants_and_else_by_name() {
    let cases: [(&[&str], &[&str], &[&str]); 8] = [
        (&[SQL], &[SQL, HTTP, HTTP_TYPES], &["walk now also asks for http"]),
        (&[SQL], &[], &["walk no longer asks for sql"]),
        (&[], &["wasi:filesystem/types@0.2.6"], &["walk now also asks for dirs"]),
        (&[], &["workhost:handler/secrets@0.1.0"], &["walk now also asks for secrets"]),
        (&[], &[STDOUT], &["walk now also imports `wasi:cli/stdout@0.2.6`, for which it needs no further grant"]),
        (
            &[HTTP],
            &[HTTP, HTTP_TYPES],
            &["walk now also imports `wasi:http/types@0.2.6`, for which it needs no further grant"],
        ),
        (&["workhost:handler/log@0.1.0"], &[], &["walk no longer imports `workhost:handler/log@0.1.0`"]),
        (
            &["odd"],
            &["odder"],
            &["walk now also imports `odder`, for which it needs no further grant", "walk no longer imports `odd`"],
        ),
    ];
    for (old, new, told) in cases {
        assert_eq!(said(&one("walk.wasm", "a", old), &one("walk.wasm", "b", new)), told);
    }
}

#[test]
fn imports_in_another_version_are_one_difference() {
    let old = one("walk.wasm", "a", &[STDOUT, "wasi:cli/stdin@0.2.6", "wasi:io/poll@0.2.6"]);
    let new = one("walk.wasm", "b", &["wasi:cli/stdout@0.2.7", "wasi:cli/stdin@0.2.7", "wasi:io/poll@0.2.7"]);
    assert_eq!(said(&old, &new), ["walk now imports `wasi:cli` and `wasi:io` in version 0.2.7; it was 0.2.6"]);
}

#[test]
fn another_version_of_the_contract_is_told_once() {
    let old = one("walk.wasm", "a", &["workhost:handler/log@0.1.0"]);
    let mut new = one("walk.wasm", "b", &["workhost:handler/log@0.1.1"]);
    new.handlers.values_mut().for_each(|handler| handler.contract = "0.1.1".into());
    assert_eq!(said(&old, &new), ["walk is now built for workhost:handler 0.1.1; it was for 0.1.0"]);
}

#[test]
fn the_contract_in_another_version_than_the_component_is_built_for_is_an_import_of_its_own() {
    let (old, new) = ("workhost:handler/log@0.1.0", "workhost:handler/log@0.1.2");
    let told = "walk now imports `workhost:handler` in version 0.1.2; it was 0.1.0";
    assert_eq!(said(&one("walk.wasm", "a", &[old]), &one("walk.wasm", "b", &[new])), [told]);
}

#[test]
fn handlers_and_kinds_come_and_go() {
    let walk = || ("walk.wasm", handler("a", &[], &[("walk", json!(true))]));
    let report =
        || ("report.wasm", handler("b", &[SQL, HTTP, STDOUT], &[("report", json!(true)), ("send", json!(true))]));
    let plain = || ("plain.wasm", handler("c", &[STDOUT], &[("plain", json!(true))]));
    assert_eq!(
        said(&lock(&[walk()]), &lock(&[walk(), report(), plain()])),
        [
            "plain is new: it runs `plain`, and asks for nothing",
            "report is new: it runs `report` and `send`, and asks for http and sql"
        ]
    );
    assert_eq!(said(&lock(&[walk(), report()]), &lock(&[walk()])), ["report is gone: it ran `report` and `send`"]);
    // Without a kind in common, the one is not the other under a new name.
    assert_eq!(
        said(&lock(&[walk()]), &lock(&[plain()])),
        ["plain is new: it runs `plain`, and asks for nothing", "walk is gone: it ran `walk`"]
    );
    let more = lock(&[("walk.wasm", handler("b", &[], &[("walk", json!(true)), ("rest", json!(true))]))]);
    assert_eq!(said(&lock(&[walk()]), &more), ["walk now also runs `rest`"]);
    assert_eq!(said(&more, &lock(&[walk()])), ["walk no longer runs `rest`"]);
}

#[test]
fn a_component_with_a_version_in_its_name_is_compared_with_the_one_before() {
    let old = one("walk-1.2.wasm", "a", &[]);
    let new = one("walk-1.3.wasm", "b", &[HTTP]);
    assert_eq!(
        said(&old, &new),
        ["`walk-1.3.wasm` has taken the place of `walk-1.2.wasm`", "walk-1.3 now also asks for http"]
    );
}

#[test]
fn a_kind_that_another_handler_runs_now_is_still_compared() {
    let payload = json!({ "properties": { "to": true } });
    let walk = handler("a", &[], &[("walk", json!(true))]);
    let both = handler("b", &[], &[("walk", json!(true)), ("send", payload)]);
    let send = handler("c", &[], &[("send", json!({ "properties": {} }))]);
    let (old, new) = (lock(&[("walk.wasm", both.clone())]), lock(&[("send.wasm", send.clone()), ("walk.wasm", walk)]));
    assert_eq!(
        said(&old, &new),
        [
            "send is new: it runs `send`, and asks for nothing",
            "`send` is now run by send; it was by walk",
            "payload of send lost the field `to`"
        ]
    );
    // Two into one: nobody's kind is gone.
    let (two, one) =
        (lock(&[("a.wasm", send), ("b.wasm", handler("a", &[], &[("walk", json!(true))]))]), lock(&[("b.wasm", both)]));
    assert_eq!(
        said(&two, &one),
        [
            "`send` is now run by b; it was by a",
            "payload of send has the new field `to`",
            "a is gone: others run its kinds"
        ]
    );
}

#[test]
fn two_components_of_one_name_are_told_apart_by_their_paths() {
    let locks = ["a", "b"].map(|digest| {
        lock(&[
            ("one/walk.wasm", handler("x", &[], &[("walk", json!(true))])),
            ("two/walk.wasm", handler(digest, &[], &[("stroll", json!(true))])),
        ])
    });
    assert_eq!(
        said(&locks[0], &locks[1]),
        ["two/walk.wasm was rebuilt: its digest changed, its kinds and imports did not"]
    );
}

#[test]
fn each_difference_names_its_place_in_the_old_lock() {
    let old = lock(&[("walk.wasm", handler("a", &[], &[("walk", json!({ "properties": { "to": true } }))]))]);
    let new = lock(&[("walk.wasm", handler("b", &[SQL], &[("walk", json!({}))]))]);
    let keys: Vec<String> = differences(&old, &new).iter().map(|one| one.keys.join(" ")).collect();
    assert_eq!(keys, ["handlers walk.wasm imports", "handlers walk.wasm kinds walk payload"]);
}
