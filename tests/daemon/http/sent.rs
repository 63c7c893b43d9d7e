//! How requests travel.

use std::net::TcpListener;
use std::sync::Arc;

use serde_json::json;

use super::server::serve_once;
use super::*;

#[tokio::test]
async fn connections_are_used_again_by_the_same_handler_and_not_by_another() {
    let server = Server::start();
    let handler = load("fetch", grant(&[&server.url("")]), Limits::default()).await;
    for _ in 0..3 {
        let ran = run(&handler, json!({ "url": server.url("/x"), "times": 5 })).await;
        assert_eq!(ran.summary()["text"], "hello");
    }
    assert_eq!((server.requests().len(), server.connections()), (15, 1));
    let other = load("fetch", grant(&[&server.url("")]), Limits::default()).await;
    assert_eq!(run(&other, json!({ "url": server.url("/x") })).await.summary()["text"], "hello");
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_body_arrives_with_its_length_and_a_query_as_it_is() {
    let server = Server::start();
    let handler = load("fetch", grant(&[&server.url("")]), Limits::default()).await;
    let payload = json!({ "url": server.url("/x?a=%20b&c"), "method": "PUT", "body_bytes": 100_000 });
    assert_eq!(run(&handler, payload).await.summary()["status"], 200);
    let [received] = &server.requests()[..] else { panic!("{:?}", server.requests()) };
    assert_eq!((received.line.as_str(), received.bytes, received.whole), ("PUT /x?a=%20b&c", 100_000, true));
}

#[tokio::test]
async fn a_server_is_trusted_by_the_certificates_of_the_grant_and_by_no_others() {
    let issued = rcgen::generate_simple_self_signed(vec!["secure.test".into()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, issued.cert.pem()).unwrap();
    let port = serve_tls(&issued);
    let origin = format!("https://secure.test:{port}");
    let names = Names::of(&[("secure.test", &[&["127.0.0.1"]]), ("other.test", &[&["127.0.0.1"]])]);
    let grant = inside(&[&origin, &format!("https://other.test:{port}")]);

    let distrusting = load_with("fetch", grant.clone(), Limits::default(), names.clone()).await;
    let ran = run(&distrusting, json!({ "url": format!("{origin}/x") })).await;
    assert_eq!(ran.error(), "the server does not answer: TlsCertificateError");

    let trusting = load_with("fetch", HttpGrant { ca: Some(ca), ..grant }, Limits::default(), names).await;
    let ran = run(&trusting, json!({ "url": format!("{origin}/x") })).await;
    assert_eq!(ran.summary()["text"], "hello");
    // The name of the URL must be the certificate's.
    let ran = run(&trusting, json!({ "url": format!("https://other.test:{port}/x") })).await;
    assert_eq!(ran.error(), "the server does not answer: TlsCertificateError");
}

/// A server with this certificate, on a port of its own.
fn serve_tls(issued: &rcgen::CertifiedKey<rcgen::KeyPair>) -> u16 {
    let key = rustls::pki_types::PrivateKeyDer::try_from(issued.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![issued.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut connection = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let tls = std::cell::RefCell::new(rustls::Stream::new(&mut connection, &mut stream));
                // A client that does not trust it goes away.
                let _ = serve_once(Half(&tls), Half(&tls));
            });
        }
    });
    port
}

/// One side of a connection, for a reader and a writer that take turns.
struct Half<'a, T>(&'a std::cell::RefCell<T>);

impl<T: std::io::Read> std::io::Read for Half<'_, T> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().read(buffer)
    }
}

impl<T: std::io::Write> std::io::Write for Half<'_, T> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.borrow_mut().flush()
    }
}
