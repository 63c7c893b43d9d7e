//! What went wrong with a request: from the errors of libraries to the codes that a guest knows.

use std::error::Error as StdError;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use tokio::time::Instant;
use wasmtime_wasi_http::Error;

use super::body::Broken;
use super::resolve::NoAddress;

/// Longer than any attempt; what adding to a time must not go beyond.
const LONGEST: Duration = Duration::from_hours(24 * 366);

/// What a failed request failed with.
#[derive(Debug)]
pub(super) enum Failure<'a> {
    /// The request's body broke off.
    Body(&'a Broken),
    /// The name leads to these addresses alone, each refused for a reason.
    Refused(&'a [(IpAddr, &'static str)]),
    /// The response's head is larger than the limit.
    HeadTooLarge,
    /// Nothing of this host's making.
    Other(Error),
}

/// The first cause that says something.
pub(super) fn of<'a>(error: &'a (dyn StdError + 'static)) -> Failure<'a> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(failure) = known(error) {
            return failure;
        }
        cause = beneath(error);
    }
    Failure::Other(Error::HttpProtocolError)
}

/// An I/O error does not count what it was made of among its sources.
fn beneath<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

fn known<'a>(error: &'a (dyn StdError + 'static)) -> Option<Failure<'a>> {
    if let Some(broken) = error.downcast_ref::<Broken>() {
        return Some(Failure::Body(broken));
    }
    if let Some(none) = error.downcast_ref::<NoAddress>() {
        return Some(match none {
            NoAddress::Refused(addresses) => Failure::Refused(addresses),
            NoAddress::Unknown(_) => Failure::Other(Error::DnsError { rcode: None, info_code: None }),
        });
    }
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return Some(Failure::Other(tls(error)));
    }
    if let Some(error) = error.downcast_ref::<hyper::Error>() {
        if error.is_parse_too_large() {
            return Some(Failure::HeadTooLarge);
        }
        if error.is_incomplete_message() {
            return Some(Failure::Other(Error::HttpResponseIncomplete));
        }
    }
    let kind = error.downcast_ref::<io::Error>()?.kind();
    Some(Failure::Other(match kind {
        io::ErrorKind::ConnectionRefused => Error::ConnectionRefused,
        io::ErrorKind::TimedOut => Error::ConnectionTimeout,
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Error::DestinationUnavailable,
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => Error::ConnectionTerminated,
        _ => return None,
    }))
}

fn tls(error: &rustls::Error) -> Error {
    match error {
        rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => Error::TlsCertificateError,
        rustls::Error::AlertReceived(alert) => {
            Error::TlsAlertReceived { alert_id: Some(u8::from(*alert)), alert_message: Some(format!("{alert:?}")) }
        }
        _ => Error::TlsProtocolError,
    }
}

/// The errors, from the outermost to the cause, for people.
pub(super) fn words(error: &(dyn StdError + 'static)) -> String {
    let mut words = error.to_string();
    let mut cause = beneath(error);
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.ends_with(&more) {
            words.push_str(": ");
            words.push_str(&more);
        }
        cause = beneath(error);
    }
    words
}

/// The moment after so long a time, however long a guest says that it is.
pub(super) fn after(time: Duration) -> Instant {
    Instant::now() + time.min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_found_however_deep_it_lies() {
        let refused = NoAddress::Refused(vec![([10, 0, 0, 1].into(), "private")]);
        let deep = io::Error::other(io::Error::other(refused));
        assert!(matches!(of(&deep), Failure::Refused([(_, "private")])));
        let certificate = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
        let deep = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, certificate));
        assert!(matches!(of(&deep), Failure::Other(Error::TlsCertificateError)));
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert!(matches!(of(&refused), Failure::Other(Error::ConnectionRefused)));
    }

    #[test]
    fn what_a_connection_failed_with_has_a_code() {
        for (kind, code) in [
            (io::ErrorKind::TimedOut, "ConnectionTimeout"),
            (io::ErrorKind::NetworkUnreachable, "DestinationUnavailable"),
            (io::ErrorKind::ConnectionReset, "ConnectionTerminated"),
            (io::ErrorKind::NotFound, "HttpProtocolError"),
        ] {
            let failure = format!("{:?}", of(&io::Error::from(kind)));
            assert!(failure.contains(code), "{kind}: {failure}");
        }
        let alert = io::Error::other(rustls::Error::AlertReceived(rustls::AlertDescription::UnknownCA));
        assert!(matches!(of(&alert), Failure::Other(Error::TlsAlertReceived { alert_id: Some(48), .. })));
    }

    #[test]
    fn each_cause_is_told_once() {
        /// An error with a cause.
        #[derive(Debug, thiserror::Error)]
        #[error("sending")]
        struct Sending(#[source] io::Error);

        let unknown = || io::Error::other(NoAddress::Unknown("none".into()));
        assert_eq!(words(&unknown()), "the name has no address: none");
        assert_eq!(words(&Sending(unknown())), "sending: the name has no address: none");
        let broken = Sending(io::Error::other(Broken::TooLarge(7)));
        assert_eq!(words(&broken), "sending: the request's body is larger than 7 bytes");
    }
}
