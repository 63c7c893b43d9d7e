//! What sends: one client per handler, with its pool of connections.

use std::path::Path;
use std::sync::Arc;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::Semaphore;

use super::HttpGrant;
use super::body::RequestBody;
use super::connect::Connector;
use super::resolve::{Checked, Resolve};
use crate::error::LoadError;
use crate::limits::Limits;

/// Bytes of a file with certificates; 1 MiB. All roots of the web together have a quarter of that.
const CA_BYTES: u64 = 1 << 20;

/// The least that hyper takes as the most bytes of a head.
const LEAST_HEAD_BYTES: usize = 8 << 10;

/// Fields of the head of a response.
pub(super) const FIELDS: usize = 100;

pub(super) type Client = HyperClient<HttpsConnector<Connector>, RequestBody>;

/// A client that reaches the addresses of this grant. HTTP/1.1 only: each request has its connection to itself, so that
/// no attempt waits for another one's.
pub(super) fn client(grant: &HttpGrant, resolver: Arc<dyn Resolve>, limits: &Limits) -> Result<Client, LoadError> {
    let resolver = Checked { resolver, listed: grant.private.clone().into() };
    let mut tcp = HttpConnector::new_with_resolver(resolver);
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(limits.http_connect_time));
    let tcp = Connector { tcp, room: Arc::new(Semaphore::new(limits.http_connections)) };
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls(grant.ca.as_deref())?)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    Ok(HyperClient::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(limits.http_idle_time)
        .pool_max_idle_per_host(limits.http_idle_connections)
        .http1_max_headers(FIELDS)
        .http1_max_buf_size(limits.http_header_bytes.max(LEAST_HEAD_BYTES))
        .build(connector))
}

/// TLS that trusts the roots of the web, and those in the grant's own file.
fn tls(ca: Option<&Path>) -> Result<ClientConfig, LoadError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for certificate in ca.map(certificates).transpose()?.unwrap_or_default() {
        roots.add(certificate).map_err(|error| refused(ca, format!("a certificate in it is no root: {error}")))?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| refused(ca, error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// Whether the file of certificates is there and has some.
pub(super) fn certificates(ca: &Path) -> Result<Vec<CertificateDer<'static>>, LoadError> {
    let wrong = |reason: String| refused(Some(ca), reason);
    let meta = std::fs::metadata(ca).map_err(|error| wrong(error.to_string()))?;
    if !meta.is_file() || meta.len() > CA_BYTES {
        return Err(wrong("is no file of at most 1 MiB".into()));
    }
    let text = std::fs::read(ca).map_err(|error| wrong(error.to_string()))?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match certificates {
        Ok(certificates) if certificates.is_empty() => Err(wrong("has no certificate in PEM".into())),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(wrong(error.to_string())),
    }
}

fn refused(ca: Option<&Path>, reason: String) -> LoadError {
    LoadError::Certificates { path: ca.unwrap_or(Path::new("")).to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_certificates_has_some_and_a_mebibyte_at_most() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let refused = |bytes: u64| {
            std::fs::write(&file, vec![b'\n'; bytes as usize]).unwrap();
            certificates(&file).unwrap_err().to_string()
        };
        for bytes in [0, CA_BYTES] {
            assert!(refused(bytes).contains("no certificate"), "{bytes}");
        }
        assert!(refused(CA_BYTES + 1).contains("at most 1 MiB"));
        assert!(certificates(folder.path()).unwrap_err().to_string().contains("is no file"));
    }
}
