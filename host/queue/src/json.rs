//! A JSON document that stays the text it came as.

mod scan;

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use scan::{Flaw, clamp_numbers, scan};

/// A JSON document, kept byte for byte: key order, repeated keys, spacing and the digits of numbers
/// survive. Two documents are equal when their texts are. Cloning is cheap.
///
/// `Debug` tells only the length, since what handlers work on must never reach a log.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(Arc<str>);

/// Why a text is no document that every store can hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidJson(String);

impl Json {
    /// Takes a document as it is. Refused: what is not JSON, what nests deeper than 100 levels, and
    /// what PostgreSQL cannot hold as text, NUL characters and halves of surrogate pairs, in keys too.
    pub fn parse(text: impl AsRef<str>) -> Result<Json, InvalidJson> {
        let json = Json::well_formed(text.as_ref())?;
        json.check()?;
        Ok(json)
    }

    /// Takes a document made by a guest: NUL characters and halves of surrogate pairs become U+FFFD.
    /// Refused: what is not JSON, and what nests deeper than 100 levels.
    pub fn storable(text: &str) -> Result<Json, InvalidJson> {
        Json::well_formed(text)?.made_storable()
    }

    /// The document of a value. A NUL in it is kept here and refused when it is enqueued as a payload.
    pub fn from_value(value: &Value) -> Json {
        Json(value.to_string().into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The parsed value. A number beyond the range of `f64` becomes the largest that there is. A document
    /// that did not come through [`Json::parse`] and nests too deep to be parsed becomes `null`.
    pub fn to_value(&self) -> Value {
        serde_json::from_str(&self.0).or_else(|_| serde_json::from_str(&clamp_numbers(&self.0))).unwrap_or(Value::Null)
    }

    /// Takes what a store holds, which was checked on its way in.
    pub(crate) fn stored(text: String) -> Json {
        Json(text.into())
    }

    /// Whether every store can hold this document; the same refusals as [`Json::parse`] after parsing.
    pub(crate) fn check(&self) -> Result<(), InvalidJson> {
        let found = scan(&self.0, |at, flaw| ControlFlow::Break((at.start, flaw)));
        match found {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break((offset, flaw)) => {
                let before = &self.0[..offset];
                let line = before.matches('\n').count() + 1;
                let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
                Err(InvalidJson(format!("{flaw} at line {line} column {column}")))
            }
        }
    }

    /// This document with what no store can hold replaced; an error if it nests too deep.
    pub(crate) fn made_storable(&self) -> Result<Json, InvalidJson> {
        let mut flaws = Vec::new();
        let _: ControlFlow<()> = scan(&self.0, |at, flaw| {
            flaws.push((at, flaw));
            ControlFlow::Continue(())
        });
        if flaws.is_empty() {
            return Ok(self.clone());
        }
        let mut text = self.0.to_string();
        for (at, flaw) in flaws {
            match flaw {
                // An escape is replaced by one of the same length, so the other ranges stay right.
                Flaw::Nul | Flaw::LoneSurrogate => text.replace_range(at, r"\ufffd"),
                Flaw::TooDeep => return Err(InvalidJson(flaw.to_string())),
            }
        }
        Ok(Json(text.into()))
    }

    fn well_formed(text: &str) -> Result<Json, InvalidJson> {
        // A raw value is checked against the grammar only, so that numbers of any size stay as they are.
        serde_json::from_str::<&RawValue>(text).map_err(|error| InvalidJson(format!("not JSON: {error}")))?;
        Ok(Json(text.into()))
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Json {
        Json::from_value(&value)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json({} bytes)", self.0.len())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Json::parse(raw.get()).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_kept_byte_for_byte() {
        let text = "{ \"b\": 1e400, \"a\": 1.50, \"a\": \"\\u00e9\" }\n";
        let json = Json::parse(text).unwrap();
        assert_eq!(json.as_str(), text);
        assert_eq!(serde_json::to_string(&json).unwrap(), text.trim());
        assert_eq!(json.to_value()["a"], "é");
    }

    #[test]
    fn nul_and_lone_surrogates_are_refused_with_their_place() {
        for (text, place) in [
            ("{\"a\":\n \"x\\u0000\"}", "line 2 column 4"),
            (r#"{"\u0000": 1}"#, "line 1 column 3"),
            (r#"["\ud83d"]"#, "line 1 column 3"),
            (r#"["\ud83d\u0041"]"#, "line 1 column 3"),
            (r#"["é\udc00"]"#, "line 1 column 4"),
        ] {
            let error = Json::parse(text).unwrap_err().to_string();
            assert!(error.contains(place), "{text}: {error}");
        }
    }

    #[test]
    fn pairs_and_escaped_backslashes_are_no_flaw() {
        for text in [r#""\ud83d\ude00""#, r#""\\u0000""#, r#""\"\\\"""#, "\"😀\"", "0", " null "] {
            assert_eq!(Json::parse(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn what_is_not_json_is_refused_for_everyone() {
        for text in ["", "{", "nul", "[1,]", "\"\u{0}\"", "\"a\nb\"", "1 2", "NaN", "{'a':1}"] {
            assert!(Json::parse(text).is_err(), "{text:?}");
            assert!(Json::storable(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn what_a_guest_made_becomes_storable() {
        let json = Json::storable(r#"{"k\u0000": ["\ud83d", "\udc00x", "\ud83d\ude00"]}"#).unwrap();
        assert_eq!(json.as_str(), r#"{"k\ufffd": ["\ufffd", "\ufffdx", "\ud83d\ude00"]}"#);
        assert_eq!(Json::parse(json.as_str()), Ok(json));
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(Json::parse(nested(100)).is_ok());
        assert!(Json::parse(nested(101)).is_err());
        assert!(Json::storable(&nested(100_000)).is_err());
        assert!(Json::parse(format!("[{}]", vec!["{}"; 500].join(","))).is_ok());
    }

    #[test]
    fn numbers_beyond_f64_are_clamped_in_the_value_only() {
        let json = Json::parse(r#"{"a": [-1e400, 1], "b": "1e400", "c": 123456789012345678901234567890}"#).unwrap();
        let value = json.to_value();
        assert_eq!(value["a"][0], f64::MIN);
        assert_eq!(value["b"], "1e400");
        assert!(json.as_str().contains("-1e400"));
    }

    #[test]
    fn debug_tells_nothing_of_the_content() {
        assert_eq!(format!("{:?}", Json::parse(r#""secret""#).unwrap()), "Json(8 bytes)");
    }

    #[test]
    fn a_document_inside_another_is_kept_too() {
        #[derive(Serialize, Deserialize)]
        struct Envelope {
            payload: Json,
        }
        let text = r#"{"payload":{"z":1,"a":1e400}}"#;
        let envelope: Envelope = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&envelope).unwrap(), text);
        assert!(serde_json::from_str::<Envelope>(r#"{"payload":"\u0000"}"#).is_err());
    }
}
