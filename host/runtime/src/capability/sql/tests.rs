//! Statements on both databases, through the host functions that a guest calls.

mod postgres;
mod sqlite;

use super::sql::Host;
use super::*;

pub(super) async fn rows(sql: &mut SqlContext, name: &str, params: Vec<Value>) -> Vec<Vec<Value>> {
    sql.query(name.into(), params).await.unwrap().unwrap().rows
}

pub(super) async fn error(sql: &mut SqlContext, name: &str, params: Vec<Value>) -> SqlError {
    sql.query(name.into(), params).await.unwrap().unwrap_err()
}

pub(super) fn same(value: &Value, other: &Value) -> bool {
    format!("{value:?}") == format!("{other:?}")
}
