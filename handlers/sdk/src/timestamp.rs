//! A point in time, as databases and JSON take it.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A point in time with a resolution of one microsecond. In JSON it is text like
/// `2026-01-31T12:00:00.25Z` (RFC 3339), read with any offset and written in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Now, by the host's clock.
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// A time as microseconds since 1970-01-01T00:00:00Z.
    pub fn from_micros(micros: i64) -> Self {
        Timestamp(micros)
    }

    /// Microseconds since 1970-01-01T00:00:00Z.
    pub fn as_micros(self) -> i64 {
        self.0
    }

    /// The text that stands for it in SQLite: always six decimals, so that it sorts as the times do.
    #[cfg(feature = "sqlite")]
    pub(crate) fn to_sqlite_text(self) -> String {
        let format =
            time::macros::format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");
        let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1000);
        time.expect("a test's times are of this age").format(format).expect("the time has all parts")
    }
}

impl From<SystemTime> for Timestamp {
    /// Rounds down to a microsecond; a time outside of the representable range becomes its end.
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Timestamp(i64::try_from(after.as_micros()).unwrap_or(i64::MAX)),
            Err(before) => {
                let nanos = before.duration().as_nanos();
                Timestamp(i64::try_from(nanos.div_ceil(1000)).map_or(i64::MIN, |micros| -micros))
            }
        }
    }
}

impl std::str::FromStr for Timestamp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time = OffsetDateTime::parse(text, &Rfc3339)
            .map_err(|_| "expected a time like 2026-01-31T12:00:00Z (RFC 3339)".to_owned())?;
        let micros = time.unix_timestamp_nanos().div_euclid(1000);
        i64::try_from(micros).map(Timestamp).map_err(|_| "the year is out of range".to_owned())
    }
}

impl std::fmt::Display for Timestamp {
    /// RFC 3339 in UTC; beyond the years 0 to 9999, which that cannot write, the plain microseconds.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1000).ok();
        match time.and_then(|time| time.format(&Rfc3339).ok()) {
            Some(text) => f.write_str(&text),
            None => write!(f, "{} µs", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn json_text_and_microseconds_are_one_time() {
        let time: Timestamp = serde_json::from_str("\"2026-01-31T14:00:00.000001+02:00\"").unwrap();
        assert_eq!(time.as_micros(), 1_769_860_800_000_001);
        assert_eq!(serde_json::to_string(&time).unwrap(), "\"2026-01-31T12:00:00.000001Z\"");
    }

    #[test]
    fn a_text_that_is_no_time_is_refused() {
        for text in ["", "yesterday", "2026-01-31", "2026-02-30T00:00:00Z", "2026-01-31T12:00:00"] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_before_1970_round_down_like_later_ones() {
        let half = Duration::from_nanos(1_500);
        assert_eq!(Timestamp::from(UNIX_EPOCH + half).as_micros(), 1);
        assert_eq!(Timestamp::from(UNIX_EPOCH - half).as_micros(), -2);
    }
}
