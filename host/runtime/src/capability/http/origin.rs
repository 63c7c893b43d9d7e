//! An origin, scheme://host:port, in the one spelling that everything here compares.

use std::fmt;

use http::Uri;
use url::{Host, Url};

/// Where a request goes. Read by the rules of browsers, so that odd spellings of a host and its address,
/// capitals, a trailing dot and other scripts all become one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Origin {
    pub(super) scheme: Scheme,
    /// Names are in lower case and ASCII, and end without a dot.
    pub(super) host: Host,
    pub(super) port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// Why a text is no origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoOrigin {
    /// Neither `http` nor `https`.
    Scheme,
    /// No host, or one that no host can have.
    Host,
    /// A name or a password before the host.
    UserInfo,
    /// More than an origin: a path, a query, a fragment.
    Path,
}

impl Origin {
    /// The origin of a text that is nothing else.
    pub(super) fn parse(text: &str) -> Result<Origin, NoOrigin> {
        let scheme = match text.split_once("://") {
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("http") => Scheme::Http,
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("https") => Scheme::Https,
            _ => return Err(NoOrigin::Scheme),
        };
        let url = Url::parse(text).map_err(|_| NoOrigin::Host)?;
        // Whatever it is: a user and a password end with it.
        if text.contains('@') {
            return Err(NoOrigin::UserInfo);
        }
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err(NoOrigin::Path);
        }
        let host = match url.host().ok_or(NoOrigin::Host)? {
            Host::Domain(name) => {
                let name = name.strip_suffix('.').unwrap_or(name);
                if name.is_empty() || name.ends_with('.') {
                    return Err(NoOrigin::Host);
                }
                Host::Domain(name.to_owned())
            }
            Host::Ipv4(address) => Host::Ipv4(address),
            // The same host as the address in it.
            Host::Ipv6(address) => address.to_ipv4_mapped().map_or(Host::Ipv6(address), Host::Ipv4),
        };
        Ok(Origin { scheme, host, port: url.port().unwrap_or(scheme.port()) })
    }

    /// The origin of a request's URI.
    pub(super) fn of(uri: &Uri) -> Result<Origin, NoOrigin> {
        let scheme = uri.scheme_str().ok_or(NoOrigin::Scheme)?;
        let authority = uri.authority().ok_or(NoOrigin::Host)?;
        Origin::parse(&format!("{scheme}://{authority}"))
    }
}

/// As it stands in a configuration: without the scheme's own port.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Origin { scheme, host, port } = self;
        write!(f, "{}://{host}", scheme.as_str())?;
        if *port == scheme.port() { Ok(()) } else { write!(f, ":{port}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        Origin::parse(text).unwrap().to_string()
    }

    #[test]
    fn every_spelling_of_an_address_is_one_origin() {
        for text in [
            "http://127.0.0.1",
            "http://127.1",
            "http://0x7f.1",
            "http://0x7f000001",
            "http://2130706433",
            "http://0177.0.0.1",
            "http://127.0.0.1.",
            "http://127.0.0.1:80",
            "HTTP://127.0.0.1/",
            "http://[::ffff:127.0.0.1]",
            "http://[::ffff:7f00:1]",
            "http://[0:0:0:0:0:ffff:127.0.0.1]:80",
            "http://%31%32%37.0.0.1",
            "http://１２７.0.0.1",
        ] {
            assert_eq!(read(text), "http://127.0.0.1", "{text}");
        }
        assert_eq!(read("http://[0:0:0:0:0:0:0:1]:8080"), "http://[::1]:8080");
    }

    #[test]
    fn every_spelling_of_a_name_is_one_origin() {
        for text in [
            "https://api.example.com",
            "https://API.Example.COM.",
            "https://api.example.com:443",
            "https://api。example.com",
        ] {
            assert_eq!(read(text), "https://api.example.com", "{text}");
        }
        assert_eq!(read("https://bücher.example"), "https://xn--bcher-kva.example");
        for text in ["http://a.example:443", "https://a.example:80", "http://a.example:0", "http://a.example:1"] {
            assert_eq!(read(text), text);
        }
    }

    #[test]
    fn what_is_no_origin_says_why() {
        for (text, why) in [
            ("api.example.com", NoOrigin::Scheme),
            ("ftp://a.example", NoOrigin::Scheme),
            ("file:///etc/passwd", NoOrigin::Scheme),
            ("https://", NoOrigin::Host),
            ("https://.", NoOrigin::Host),
            ("https://a.example..", NoOrigin::Host),
            ("https://a b.example", NoOrigin::Host),
            ("https://a.example:99999", NoOrigin::Host),
            ("https://[fe80::1%25eth0]", NoOrigin::Host),
            ("https://1.2.3.4.5", NoOrigin::Host),
            ("https://256.1.1.1", NoOrigin::Host),
            ("https://me@a.example", NoOrigin::UserInfo),
            ("https://me:secret@a.example", NoOrigin::UserInfo),
            ("https://@a.example", NoOrigin::UserInfo),
            ("https://a.example/v1", NoOrigin::Path),
            ("https://a.example?x", NoOrigin::Path),
            ("https://a.example#x", NoOrigin::Path),
        ] {
            assert_eq!(Origin::parse(text), Err(why), "{text}");
        }
    }
}
