//! Where requests may go: origins, names and the addresses behind them, redirects.

use std::net::Ipv4Addr;

use serde_json::json;

use super::*;

/// Another address of this machine.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

#[tokio::test]
async fn a_request_to_an_origin_that_is_not_listed_is_denied_with_the_line_to_add() {
    let (listed, other) = (Server::start(), Server::start());
    let handler = load("fetch", grant(&[&listed.url("")]), Limits::default()).await;
    assert_eq!(run(&handler, json!({ "url": listed.url("/x") })).await.summary()["text"], "hello");
    let ran = run(&handler, json!({ "url": other.url("/path?token=hunter2") })).await;
    assert_eq!(ran.error(), "the request was denied: HttpRequestDenied");
    for words in [
        format!("http request to {} denied", other.url("/path")),
        "guests/fetch.wasm".to_owned(),
        format!("allow = [\"{}\", \"{}\"]", listed.url(""), other.url("")),
    ] {
        assert!(ran.log.contains(&words), "{words}: {}", ran.log);
    }
    assert!(!ran.log.contains("hunter2"), "{}", ran.log);
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn a_name_that_leads_to_a_private_address_is_denied_unless_that_is_listed() {
    let server = Server::start();
    let origin = format!("http://inside.test:{}", server.port);
    let payload = json!({ "url": format!("{origin}/x?token=hunter2") });
    for addresses in
        [&["127.0.0.1"][..], &["::1"], &["::ffff:127.0.0.1"], &["169.254.169.254"], &["10.0.0.1", "fd00:ec2::254"]]
    {
        let names = Names::of(&[("inside.test", &[addresses])]);
        let handler = load_with("fetch", grant(&[&origin]), Limits::default(), names).await;
        let ran = run(&handler, payload.clone()).await;
        assert_eq!(ran.error(), "the request was denied: DestinationIpProhibited", "{addresses:?}");
        let line = format!(
            "private = [{}]",
            addresses.iter().map(|address| format!("{address:?}")).collect::<Vec<_>>().join(", ")
        );
        assert!(ran.log.contains(&line) && ran.log.contains(&format!("{origin}/x denied")), "{line}: {}", ran.log);
        assert!(!ran.log.contains("hunter2"), "{}", ran.log);
    }
    assert_eq!(server.connections(), 0);

    let names = Names::of(&[("inside.test", &[&["127.0.0.1"]])]);
    let handler = load_with("fetch", inside(&[&origin]), Limits::default(), names).await;
    assert_eq!(run(&handler, payload).await.summary()["text"], "hello");
    assert_eq!(server.requests()[0].host, format!("inside.test:{}", server.port));
}

#[tokio::test]
async fn of_several_addresses_only_the_listed_one_is_connected_to() {
    let server = Server::start();
    let refused = Server::at(ELSEWHERE.into(), server.port);
    let origin = format!("http://both.test:{}", server.port);
    let names = Names::of(&[("both.test", &[&["127.0.0.2", "127.0.0.1", "127.0.0.2"]])]);
    let handler = load_with("fetch", inside(&[&origin]), Limits::default(), names).await;
    let ran = run(&handler, json!({ "url": format!("{origin}/close"), "times": 5 })).await;
    assert_eq!(ran.summary()["text"], "bye");
    assert_eq!((server.connections(), refused.connections()), (5, 0));
}

#[tokio::test]
async fn a_name_that_changes_its_address_after_the_check_leads_nowhere_else() {
    let server = Server::start();
    let rebound = Server::at(ELSEWHERE.into(), server.port);
    let origin = format!("http://rebinds.test:{}", server.port);
    let names = Names::of(&[("rebinds.test", &[&["127.0.0.1"], &["127.0.0.2"]])]);
    let handler = load_with("fetch", inside(&[&origin]), Limits::default(), names.clone()).await;
    // The one look-up of a connection is the one that was checked; kept open, it goes where it went.
    let ran = run(&handler, json!({ "url": format!("{origin}/x"), "times": 3 })).await;
    assert_eq!(ran.summary()["text"], "hello");
    assert_eq!((names.looked_up().len(), server.connections()), (1, 1));
    // A new connection is a new check.
    let ran = run(&handler, json!({ "url": format!("{origin}/close"), "times": 2 })).await;
    assert_eq!(ran.error(), "the request was denied: DestinationIpProhibited");
    assert_eq!((names.looked_up().len(), server.connections(), rebound.connections()), (2, 1, 0));
}

#[tokio::test]
async fn an_address_in_an_odd_spelling_is_the_address() {
    let server = Server::start();
    let port = server.port;
    let spellings = [
        "http://127.1",
        "http://0x7f.1",
        "http://0x7F000001",
        "http://2130706433",
        "http://0177.0.0.1",
        "http://127.0.0.1.",
        "HTTP://127.0.0.1",
        "http://[::ffff:127.0.0.1]",
        "http://[0:0:0:0:0:ffff:7f00:1]",
    ];
    // Whoever may not go there may not in any spelling. Nor does a name with a number's look get to the names.
    let names = Names::of(&[]);
    let denied = grant(&["http://api.test", "http://*.example.com"]);
    let denied = load_with("fetch", denied, Limits::default(), names.clone()).await;
    for spelling in spellings {
        let ran = run(&denied, json!({ "url": format!("{spelling}:{port}/x") })).await;
        assert_eq!(ran.error(), "the request was denied: HttpRequestDenied", "{spelling}");
        assert!(ran.log.contains(&format!("\"http://127.0.0.1:{port}\"")), "{spelling}: {}", ran.log);
    }
    assert_eq!((server.connections(), names.looked_up()), (0, vec![]));

    let allowed = load("fetch", grant(&[&server.url("")]), Limits::default()).await;
    for spelling in spellings {
        let ran = run(&allowed, json!({ "url": format!("{spelling}:{port}/x") })).await;
        assert_eq!(ran.summary()["text"], "hello", "{spelling}");
        assert_eq!(server.requests().last().unwrap().host, format!("127.0.0.1:{port}"), "{spelling}");
    }
}

#[tokio::test]
async fn an_ipv6_origin_is_reached_when_it_is_listed_and_only_then() {
    let server = Server::at("::1".parse().unwrap(), 0);
    let origin = format!("http://[::1]:{}", server.port);
    let payload = json!({ "url": format!("http://[0:0:0::1]:{}/x", server.port) });
    let denied = load("fetch", grant(&["http://api.test"]), Limits::default()).await;
    assert_eq!(run(&denied, payload.clone()).await.error(), "the request was denied: HttpRequestDenied");
    let allowed = load("fetch", grant(&[&origin]), Limits::default()).await;
    assert_eq!(run(&allowed, payload).await.summary()["text"], "hello");
    assert_eq!(server.requests()[0].host, format!("[::1]:{}", server.port));
}

#[tokio::test]
async fn a_name_in_another_spelling_is_the_name() {
    let server = Server::start();
    let names = Names::of(&[("xn--bcher-kva.test", &[&["127.0.0.1"]])]);
    let origin = format!("http://bücher.test:{}", server.port);
    let handler = load_with("fetch", inside(&[&origin]), Limits::default(), names).await;
    for spelling in ["xn--bcher-kva.test", "XN--BCHER-KVA.Test.", "xn--bcher-kva.test."] {
        let ran = run(&handler, json!({ "url": format!("http://{spelling}:{}/x", server.port) })).await;
        assert_eq!(ran.summary()["text"], "hello", "{spelling}");
        assert_eq!(server.requests().last().unwrap().host, format!("xn--bcher-kva.test:{}", server.port));
    }
}

#[tokio::test]
async fn what_has_no_origin_or_hides_a_user_is_denied_without_being_repeated() {
    let server = Server::start();
    let handler = load("fetch", grant(&[&server.url("")]), Limits::default()).await;
    for url in [
        format!("http://me:hunter2@127.0.0.1:{}/x", server.port),
        format!("http://127.0.0.1:{}@evil.test/x", server.port),
        "http://256.1.1.1/x".to_owned(),
        "http://1.2.3.4.5/x".to_owned(),
    ] {
        let ran = run(&handler, json!({ "url": url })).await;
        assert!(ran.error().starts_with("the request is invalid"), "{url}: {}", ran.error());
        assert!(!ran.log.contains("hunter2"), "{}", ran.log);
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_where_it_points_is_checked_like_any_other() {
    let (from, denied) = (Server::start(), Server::start());
    let names = Names::of(&[("outside.test", &[&["169.254.169.254"]])]);
    let allow = [&from.url(""), "http://outside.test"];
    let handler = load_with("fetch", grant(&allow), Limits::default(), names).await;
    let url = from.url(&format!("/redirect?{}", denied.url("/secret")));
    let seen = run(&handler, json!({ "url": url })).await.summary();
    assert_eq!((&seen["status"], &seen["location"]), (&json!(302), &json!(denied.url("/secret"))));
    let followed = run(&handler, json!({ "url": url, "follow": true })).await;
    assert_eq!(followed.error(), "the request was denied: HttpRequestDenied");
    assert_eq!(denied.connections(), 0);
    let url = from.url("/redirect?http://outside.test/latest/meta-data");
    let followed = run(&handler, json!({ "url": url, "follow": true })).await;
    assert_eq!(followed.error(), "the request was denied: DestinationIpProhibited");
    let back =
        run(&handler, json!({ "url": from.url(&format!("/redirect?{}", from.url("/x"))), "follow": true })).await;
    assert_eq!(back.summary()["text"], "hello");
}
