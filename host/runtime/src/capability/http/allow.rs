//! The allow-list: which origins a handler may reach.

use std::fmt;
use std::str::FromStr;

use url::Host;

use super::BadEntry;
use super::origin::{NoOrigin, Origin};

/// An entry of the allow-list: `https://api.example.com`, `https://*.example.org:8443`, `http://10.0.0.7:8080`.
///
/// A leading `*` stands for exactly one label, as in a certificate: what is granted is what can be read. The host
/// itself, and names further down, are entries of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedOrigin {
    /// With a wildcard, the host is the name behind `*.`.
    origin: Origin,
    wildcard: bool,
}

impl AllowedOrigin {
    /// Whether requests to this origin may go out.
    pub(super) fn allows(&self, origin: &Origin) -> bool {
        if !self.wildcard {
            return self.origin == *origin;
        }
        let (Host::Domain(below), Host::Domain(name)) = (&self.origin.host, &origin.host) else { return false };
        let label = name.strip_suffix(below.as_str()).and_then(|rest| rest.strip_suffix('.'));
        self.origin.scheme == origin.scheme
            && self.origin.port == origin.port
            && label.is_some_and(|label| !label.is_empty() && !label.contains('.'))
    }
}

impl FromStr for AllowedOrigin {
    type Err = BadEntry;

    fn from_str(text: &str) -> Result<AllowedOrigin, BadEntry> {
        let wrong =
            |problem: &str, mend: &str| Err(BadEntry { problem: format!("`{text}` {problem}"), mend: mend.to_owned() });
        // Whatever else is wrong: what stands before an `@` may be a password, and is not shown.
        if text.contains('@') {
            return Err(BadEntry {
                problem: "an entry has a user before its host".into(),
                mend: "leave out what ends with `@`; a handler gets credentials another way".into(),
            });
        }
        let example = "write scheme://host or scheme://host:port, such as \"https://api.example.com\"";
        let (plain, wildcard) = match text.split_once("://*.") {
            Some((scheme, rest)) => (format!("{scheme}://{rest}"), true),
            None => (text.to_owned(), false),
        };
        if plain.contains('*') {
            return wrong(
                "has a `*` that is not the first label of a name",
                "a wildcard is written \"https://*.example.com\"",
            );
        }
        let origin = match Origin::parse(&plain) {
            Ok(origin) => origin,
            Err(NoOrigin::Scheme) => return wrong("begins with neither http:// nor https://", example),
            Err(NoOrigin::Host) => return wrong("has no host that there can be", example),
            Err(NoOrigin::Path | NoOrigin::UserInfo) => {
                return wrong("is more than an origin", "leave out the path, the query and the fragment");
            }
        };
        if wildcard {
            match &origin.host {
                Host::Domain(name) if name.contains('.') => {}
                Host::Domain(_) => {
                    return wrong(
                        "stands for all of a top-level domain",
                        "name at least two labels, as in \"https://*.example.com\"",
                    );
                }
                Host::Ipv4(_) | Host::Ipv6(_) => return wrong("has a wildcard in an address", "list each address"),
            }
        }
        Ok(AllowedOrigin { origin, wildcard })
    }
}

impl fmt::Display for AllowedOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.origin.to_string();
        if self.wildcard { f.write_str(&text.replacen("://", "://*.", 1)) } else { f.write_str(&text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(entry: &str, origin: &str) -> bool {
        entry.parse::<AllowedOrigin>().unwrap().allows(&Origin::parse(origin).unwrap())
    }

    #[test]
    fn an_entry_allows_its_scheme_host_and_port_and_no_other() {
        assert!(allows("https://API.example.com.", "https://api.example.com:443"));
        assert!(allows("http://10.0.0.7:8080", "http://0xa.7:8080"));
        assert!(allows("http://[::1]", "http://[0:0::1]:80"));
        for other in [
            "http://api.example.com",
            "http://api.example.com:443",
            "https://api.example.com:444",
            "https://api.example.org",
            "https://x.api.example.com",
            "https://example.com",
            "https://api.example.com.evil.example",
            "https://1.2.3.4",
        ] {
            assert!(!allows("https://api.example.com", other), "{other}");
        }
    }

    #[test]
    fn a_wildcard_stands_for_one_label() {
        let entry = "https://*.example.org:8443";
        assert!(allows(entry, "https://a.example.org:8443"));
        assert!(allows(entry, "https://A.EXAMPLE.org.:8443"));
        for other in [
            "https://example.org:8443",
            "https://a.b.example.org:8443",
            "https://a.example.org",
            "http://a.example.org:8443",
            "https://aexample.org:8443",
            "https://evilexample.org:8443",
            "https://a.example.org.evil.example:8443",
            "https://1.2.3.4:8443",
        ] {
            assert!(!allows(entry, other), "{other}");
        }
    }

    #[test]
    fn an_entry_that_cannot_be_meant_is_told_with_its_mend() {
        for text in [
            "",
            "*",
            "api.example.com",
            "https://*",
            "https://*.",
            "https://*.com",
            "https://*example.com",
            "https://a.*.example.com",
            "https://*.*.example.com",
            "https://*.1.2.3",
            "https://*.[::1]",
            "*://example.com",
            "https://example.com:*",
            "https://a.example/x",
            "https://me:hunter2@a.example",
            "ftp://me:hunter2@a.example",
        ] {
            let bad = text.parse::<AllowedOrigin>().unwrap_err();
            assert!(!bad.problem.contains("hunter2") && !bad.mend.is_empty(), "{text}: {bad:?}");
        }
    }

    #[test]
    fn an_entry_is_shown_as_it_is_understood() {
        let entry: AllowedOrigin = "HTTPS://*.Example.org:443/".parse().unwrap();
        assert_eq!(entry.to_string(), "https://*.example.org");
    }
}
