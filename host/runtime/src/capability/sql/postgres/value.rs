//! The contract's values and PostgreSQL's types.

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArgumentBuffer, PgArguments, PgRow, PgTypeInfo, PgValueRef, Postgres};
use sqlx::types::{Json, JsonRawValue};
use sqlx::{Arguments, Decode, Encode, Row, Type, TypeInfo};
use time::OffsetDateTime;
use uuid::Uuid;

use super::super::case;
use crate::bindings::workhost::handler::sql::Value;

/// The types that have a place among the contract's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Text,
    Bytea,
    Timestamp,
    Uuid,
    Json,
    Void,
}

impl Kind {
    pub(super) fn of(info: &PgTypeInfo) -> Option<Self> {
        Some(match info.name() {
            "BOOL" => Kind::Bool,
            "INT2" => Kind::Int2,
            "INT4" => Kind::Int4,
            "INT8" => Kind::Int8,
            "FLOAT4" => Kind::Float4,
            "FLOAT8" => Kind::Float8,
            "TEXT" | "VARCHAR" | "CHAR" | "NAME" | "UNKNOWN" => Kind::Text,
            "BYTEA" => Kind::Bytea,
            "TIMESTAMPTZ" | "TIMESTAMP" => Kind::Timestamp,
            "UUID" => Kind::Uuid,
            "JSON" | "JSONB" => Kind::Json,
            "VOID" => Kind::Void,
            _ => return None,
        })
    }
}

/// Adds a value as its parameter's type wants it.
pub(super) fn bind(to: &mut PgArguments, kind: Kind, value: Value) -> Result<(), String> {
    let range = |_| format!("the integer does not fit the type {kind:?}").to_lowercase();
    let added = match (kind, value) {
        (Kind::Bool, Value::Null) => to.add(None::<bool>),
        (Kind::Bool, Value::Boolean(value)) => to.add(value),
        (Kind::Int2, Value::Null) => to.add(None::<i16>),
        (Kind::Int2, Value::Integer(value)) => to.add(i16::try_from(value).map_err(range)?),
        (Kind::Int4, Value::Null) => to.add(None::<i32>),
        (Kind::Int4, Value::Integer(value)) => to.add(i32::try_from(value).map_err(range)?),
        (Kind::Int8, Value::Null) => to.add(None::<i64>),
        (Kind::Int8, Value::Integer(value)) => to.add(value),
        (Kind::Float4, Value::Null) => to.add(None::<f32>),
        (Kind::Float4, Value::Float(value)) => to.add(value as f32),
        (Kind::Float8, Value::Null) => to.add(None::<f64>),
        (Kind::Float8, Value::Float(value)) => to.add(value),
        (Kind::Text, Value::Null) => to.add(None::<String>),
        (Kind::Text, Value::Text(value)) if value.contains('\0') => {
            return Err("PostgreSQL takes no text with a NUL".into());
        }
        (Kind::Text, Value::Text(value)) => to.add(value),
        (Kind::Bytea, Value::Null) => to.add(None::<Vec<u8>>),
        (Kind::Bytea, Value::Bytes(value)) => to.add(value),
        (Kind::Timestamp, Value::Null) => to.add(None::<Micros>),
        (Kind::Timestamp, Value::Timestamp(value)) => to.add(Micros(value)),
        (Kind::Uuid, Value::Null) => to.add(None::<Uuid>),
        (Kind::Uuid, Value::Uuid(value)) => to.add(Uuid::try_parse(&value).map_err(|_| "it is no uuid".to_owned())?),
        (Kind::Json, Value::Null) => to.add(None::<Json<Box<JsonRawValue>>>),
        (Kind::Json, Value::Json(value)) => {
            to.add(Json(JsonRawValue::from_string(value).map_err(|error| format!("it is not JSON: {error}"))?))
        }
        (kind, value) => {
            return Err(format!(
                "{} was given, the statement wants {}",
                case(&value),
                format!("{kind:?}").to_lowercase()
            ));
        }
    };
    added.map_err(|error| error.to_string())
}

/// A column's value, by the type that it was prepared with.
pub(super) fn decode(row: &PgRow, index: usize, kind: Kind) -> sqlx::Result<Value> {
    fn get<'r, T: Decode<'r, Postgres>>(row: &'r PgRow, index: usize, made: fn(T) -> Value) -> sqlx::Result<Value> {
        Ok(row.try_get_unchecked::<Option<T>, _>(index)?.map_or(Value::Null, made))
    }
    match kind {
        Kind::Bool => get(row, index, Value::Boolean),
        Kind::Int2 => get(row, index, |value: i16| Value::Integer(value.into())),
        Kind::Int4 => get(row, index, |value: i32| Value::Integer(value.into())),
        Kind::Int8 => get(row, index, Value::Integer),
        Kind::Float4 => get(row, index, |value: f32| Value::Float(value.into())),
        Kind::Float8 => get(row, index, Value::Float),
        Kind::Text => get(row, index, Value::Text),
        Kind::Bytea => get(row, index, Value::Bytes),
        Kind::Timestamp => get(row, index, |value: Micros| Value::Timestamp(value.0)),
        Kind::Uuid => get(row, index, |value: Uuid| Value::Uuid(value.hyphenated().to_string())),
        Kind::Json => get(row, index, |value: Json<Box<JsonRawValue>>| Value::Json(value.0.get().to_owned())),
        Kind::Void => Ok(Value::Null),
    }
}

/// A time in microseconds since 1970, as both of PostgreSQL's timestamps go over the wire. The time crate's
/// types would not hold all of them (`infinity`).
struct Micros(i64);

/// Microseconds from 1970 to 2000, where PostgreSQL begins to count.
const EPOCH: i64 = 946_684_800_000_000;

impl Type<Postgres> for Micros {
    fn type_info() -> PgTypeInfo {
        <OffsetDateTime as Type<Postgres>>::type_info()
    }
}

impl Encode<'_, Postgres> for Micros {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let micros = self.0.checked_sub(EPOCH).ok_or("the time lies too far in the past")?;
        <i64 as Encode<Postgres>>::encode_by_ref(&micros, buffer)
    }
}

impl<'r> Decode<'r, Postgres> for Micros {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        match <i64 as Decode<Postgres>>::decode(value)? {
            i64::MAX | i64::MIN => Err("an infinite time has no value".into()),
            micros => micros.checked_add(EPOCH).map(Micros).ok_or_else(|| "the time lies too far in the future".into()),
        }
    }
}
