//! Values that people write as text: durations (`24h`) and sizes (`64MiB`).

use serde::{Deserialize, Deserializer, de::Error};

/// A database's URL. It may hold a password, so it is shown without what could be one.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Url(pub(super) String);

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (scheme, rest) = self.0.split_once("://").unwrap_or(("", &self.0));
        let (secret, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        if secret.contains('?') {
            // An `@` among the parameters, or a `?` in the password: no part is surely harmless.
            return write!(f, "{scheme}://…");
        }
        // A password can stand among the parameters, too.
        let place = place.split_once('?').map_or(place, |(place, _)| place);
        write!(f, "{scheme}://{place}")
    }
}

impl std::fmt::Debug for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Url({self})")
    }
}

/// A size in bytes, written as a number or as `64MiB`, `1GiB`, `512KiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub usize);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a number of bytes or a size such as \"64MiB\"")]
        enum Written {
            Number(usize),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(bytes) => Ok(Bytes(bytes)),
            Written::Text(text) => parse_bytes(&text).map(Bytes).map_err(D::Error::custom),
        }
    }
}

fn parse_bytes(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(format!("`{text}` is no size: expected a number with B, KiB, MiB or GiB, such as 64MiB")),
    };
    number
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_mul(factor))
        .ok_or_else(|| format!("`{text}` is no size: expected a number with B, KiB, MiB or GiB, such as 64MiB"))
}

/// A duration as text (`5s`, `1h 30m`, `24h`).
pub(super) mod duration {
    use super::*;
    use std::time::Duration;

    /// Longer is a mistake, and adding it to a time has no result.
    const LONGEST: Duration = Duration::from_hours(100 * 366 * 24);

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(deserializer)?;
        let duration = humantime::parse_duration(&text).map_err(|error| {
            D::Error::custom(format!(
                "`{text}` is no duration ({error}): expected text such as \"30s\", \"5m\" or \"24h\""
            ))
        })?;
        if duration > LONGEST {
            return Err(D::Error::custom(format!("`{text}` is longer than a hundred years")));
        }
        Ok(duration)
    }
}

/// The same, where it may be left out.
pub(super) mod optional_duration {
    use super::*;
    use std::time::Duration;

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        duration::deserialize(deserializer).map(Some)
    }
}

/// The digest of a component, where one is pinned.
pub(super) mod optional_digest {
    use super::*;
    use workhost_runtime::Digest;

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Digest>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digest =
            text.parse::<Digest>().map_err(|error| D::Error::custom(format!("`{text}` is no digest: {error}")))?;
        Ok(Some(digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_password() {
        for url in [
            "postgres://me:se@cret@db:5432/app",
            "postgres://db:5432/app?user=me&password=se@cret",
            "postgres://me:se?cr@et@db/app",
        ] {
            let shown = format!("{0} {0:?}", Url(url.into()));
            assert!(!shown.contains("se") && !shown.contains("cr") && !shown.contains("et"), "{shown}");
        }
        assert_eq!(Url("sqlite://a/b.db".into()).to_string(), "sqlite://a/b.db");
        assert_eq!(Url("postgres://me:x@db:5432/app".into()).to_string(), "postgres://db:5432/app");
    }

    #[test]
    fn a_duration_has_a_hundred_years_at_most() {
        let read = |text: &str| duration::deserialize(toml::Value::from(text));
        assert_eq!(read("36600days").unwrap(), std::time::Duration::from_secs(3_162_240_000));
        for longer in ["36600days 1s", "40000days"] {
            assert!(read(longer).unwrap_err().to_string().contains("longer than a hundred years"), "{longer}");
        }
    }

    #[test]
    fn sizes_are_read_with_their_unit() {
        assert_eq!(parse_bytes("64MiB"), Ok(64 << 20));
        assert_eq!(parse_bytes("2 GiB"), Ok(2 << 30));
        assert_eq!(parse_bytes("1024"), Ok(1024));
        for wrong in ["", "MiB", "64MB", "-1", "1.5GiB", "99999999999999999999", "18446744073709551615GiB"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }
}
