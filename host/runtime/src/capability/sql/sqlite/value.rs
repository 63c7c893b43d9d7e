//! The contract's values and what SQLite stores.

use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteRow};
use sqlx::{Arguments, Column, Decode, Row, TypeInfo, ValueRef};
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime, UtcOffset};

use crate::bindings::workhost::handler::sql::{SqlError, Value};

/// The one shape of a time as text; it sorts as the times do.
const TIME: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");
/// Adds a value as its case says.
pub(super) fn bind(to: &mut SqliteArguments, value: Value) -> Result<(), String> {
    let added = match value {
        Value::Null => to.add(None::<i64>),
        Value::Boolean(value) => to.add(value),
        Value::Integer(value) => to.add(value),
        Value::Float(value) => to.add(value),
        Value::Text(value) => to.add(value),
        Value::Bytes(value) => to.add(value),
        Value::Timestamp(micros) => to.add(time_text(micros)?),
        Value::Uuid(value) => to.add(uuid_text(&value)?),
        Value::Json(value) => {
            serde_json::from_str::<serde::de::IgnoredAny>(&value)
                .map_err(|error| format!("it is not JSON: {error}"))?;
            to.add(value)
        }
    };
    added.map_err(|error| error.to_string())
}

/// A row's values as they are stored.
pub(super) fn decode(row: &SqliteRow) -> Result<Vec<Value>, SqlError> {
    let mut values = Vec::with_capacity(row.len());
    for column in row.columns() {
        let wrong = |reason: String| SqlError::Invalid(format!("column `{}`: {reason}", column.name()));
        let raw = row.try_get_raw(column.ordinal()).map_err(|error| wrong(error.to_string()))?;
        if raw.is_null() {
            values.push(Value::Null);
            continue;
        }
        let declared = column.type_info().name();
        let stored = raw.type_info().name().to_owned();
        let value = match stored.as_str() {
            "INTEGER" => <i64 as Decode<Sqlite>>::decode(raw).map(|value| match (declared, value) {
                ("BOOLEAN", 0) => Value::Boolean(false),
                ("BOOLEAN", 1) => Value::Boolean(true),
                _ => Value::Integer(value),
            }),
            "REAL" => <f64 as Decode<Sqlite>>::decode(raw).map(Value::Float),
            "BLOB" => <Vec<u8> as Decode<Sqlite>>::decode(raw).map(Value::Bytes),
            _ => <String as Decode<Sqlite>>::decode(raw).map(|text| match text_time(&text) {
                Some(micros) if declared == "DATETIME" => Value::Timestamp(micros),
                _ => Value::Text(text),
            }),
        };
        values.push(value.map_err(|error| wrong(error.to_string()))?);
    }
    Ok(values)
}

/// A time as text of the one shape.
fn time_text(micros: i64) -> Result<String, String> {
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(micros) * 1000)
        .ok()
        .filter(|time| (0..=9999).contains(&time.year()));
    time.and_then(|time| time.format(TIME).ok()).ok_or_else(|| "the time lies outside the years 0 to 9999".into())
}

/// The time that a text of the one shape stands for.
fn text_time(text: &str) -> Option<i64> {
    let time = PrimitiveDateTime::parse(text, TIME).ok()?.assume_offset(UtcOffset::UTC);
    i64::try_from(time.unix_timestamp_nanos() / 1000).ok()
}

fn uuid_text(text: &str) -> Result<String, String> {
    uuid::Uuid::try_parse(text).map(|uuid| uuid.hyphenated().to_string()).map_err(|_| "it is no uuid".into())
}
