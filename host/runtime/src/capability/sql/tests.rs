//! Statements on both databases, through the host functions that a guest calls.

mod postgres;
mod sqlite;

use super::sql::Host;
use super::*;
use crate::control::Control;
use crate::job::Job;

/// Attempt 2 of item 7, in the scope `a'b`.
pub(super) fn caller(control: &Arc<Control>) -> Arc<Caller> {
    let (kind, scope) = ("k".into(), Some("a'b".into()));
    Caller::new(control, &Job { id: 7, kind, scope, attempt: 2, payload: "{}".into(), resume_from: None })
}

/// The grant of this statement, within the common limits.
pub(super) fn grant_of(statement: &str) -> SqlGrant {
    SqlGrant { database: "app".into(), statement: statement.into(), rows: None, time: None }
}

pub(super) async fn rows(sql: &mut SqlContext, name: &str, params: Vec<Value>) -> Vec<Vec<Value>> {
    sql.query(name.into(), params).await.unwrap().unwrap().rows
}

pub(super) async fn error(sql: &mut SqlContext, name: &str, params: Vec<Value>) -> SqlError {
    sql.query(name.into(), params).await.unwrap().unwrap_err()
}

pub(super) fn same(value: &Value, other: &Value) -> bool {
    format!("{value:?}") == format!("{other:?}")
}

#[test]
fn rows_just_as_large_as_their_limit_are_passed_on() {
    let limits = SqlLimits { rows: 9, bytes: 16 + 20, time: std::time::Duration::MAX };
    let row = |text: &str| vec![Value::Text(text.to_owned())];
    let mut collector = Collector::new(limits);
    collector.push(row("abcd")).unwrap();
    collector.push(row("")).unwrap();
    assert!(matches!(collector.push(row("")), Err(SqlError::TooLarge(_))));
    collector = Collector::new(limits);
    assert!(matches!(collector.push(row(&"x".repeat(21))), Err(SqlError::TooLarge(_))));
}
