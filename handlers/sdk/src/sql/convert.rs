//! Between Rust's types and a database's values.

use std::time::SystemTime;

use super::Value;
use crate::Timestamp;

/// Implements [`From`] and [`FromValue`] for a type that one variant holds.
macro_rules! held_by {
    ($($variant:ident($type:ty)),+) => {
        $(
            impl From<$type> for Value {
                fn from(value: $type) -> Self {
                    Value::$variant(value.into())
                }
            }

            impl FromValue for $type {
                fn from_value(value: &Value) -> Option<Self> {
                    match value {
                        Value::$variant(value) => value.clone().try_into().ok(),
                        _ => None,
                    }
                }
            }
        )+
    };
}

held_by!(Boolean(bool), Integer(i64), Integer(i32), Integer(u32), Float(f64), Text(String), Bytes(Vec<u8>));

/// A Rust type that a column can be read as.
pub trait FromValue: Sized {
    /// The value as this type, or `None` if it is another one.
    fn from_value(value: &Value) -> Option<Self>;
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}

impl FromValue for Timestamp {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Timestamp(micros) => Some(Timestamp::from_micros(*micros)),
            // SQLite has no type of its own for times.
            Value::Text(text) => text.parse().ok(),
            _ => None,
        }
    }
}

impl FromValue for serde_json::Value {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Json(text) | Value::Text(text) => serde_json::from_str(text).ok(),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Value::Bytes(bytes.to_owned())
    }
}

impl From<Timestamp> for Value {
    fn from(time: Timestamp) -> Self {
        Value::Timestamp(time.as_micros())
    }
}

impl From<SystemTime> for Value {
    fn from(time: SystemTime) -> Self {
        Timestamp::from(time).into()
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Self {
        Value::Json(json.to_string())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_as_the_type_it_was_made_of() {
        let time = Timestamp::from_micros(5);
        assert_eq!(i64::from_value(&Value::from(7_i64)), Some(7));
        assert_eq!(u32::from_value(&Value::from(7_u32)), Some(7));
        assert_eq!(String::from_value(&Value::from("a")), Some("a".to_owned()));
        assert_eq!(Timestamp::from_value(&Value::from(time)), Some(time));
        assert_eq!(Option::<bool>::from_value(&Value::from(None::<bool>)), Some(None));
        assert_eq!(Option::<bool>::from_value(&Value::from(Some(true))), Some(Some(true)));
    }

    #[test]
    fn a_value_of_another_type_or_out_of_range_is_not_read() {
        assert_eq!(u32::from_value(&Value::Integer(-1)), None);
        assert_eq!(i64::from_value(&Value::from("7")), None);
        assert_eq!(String::from_value(&Value::Null), None);
    }
}
