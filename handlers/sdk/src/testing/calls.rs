//! The host's functions, answered by the [`Host`] of the test that runs on this thread.

use std::cell::RefCell;

use super::Host;
use crate::StopReason;
use crate::bindings::workhost::handler::log::Level;
use crate::bindings::workhost::handler::sql::{Rows, SqlError, Value};
use crate::sql::Error;

thread_local! {
    // A handler calls its host without naming one, and tests run in parallel: so one per thread.
    static CURRENT: RefCell<Option<Host>> = const { RefCell::new(None) };
}

/// Runs code whose calls this host answers, and gives the host back.
pub(super) fn answered_by<T>(host: Host, code: impl FnOnce() -> T) -> (T, Host) {
    CURRENT.set(Some(host));
    let answer = code();
    (answer, CURRENT.take().expect("nothing else takes the host"))
}

fn with<T>(call: impl FnOnce(&mut Host) -> T) -> T {
    CURRENT.with_borrow_mut(|host| call(host.as_mut().expect("a handler calls its host inside of `Host::run`")))
}

pub(crate) fn log(_level: Level, message: &str, _fields: &[(String, String)]) {
    with(|host| host.log.push(message.to_owned()));
}

pub(crate) fn report_progress(snapshot: &str) {
    let json = serde_json::from_str(snapshot).expect("this crate wrote the text as JSON");
    with(|host| host.progress.push(json));
}

pub(crate) fn stop_requested() -> Option<StopReason> {
    with(|host| host.stop.as_mut().and_then(|answer| answer()))
}

pub(crate) fn delete_finished(older_than_days: u32) -> Result<u64, String> {
    with(|host| match &mut host.retention {
        Some(answer) => answer(older_than_days),
        None => Err("`retention` is not granted".to_owned()),
    })
}

pub(crate) fn execute(statement: &str, params: &[Value]) -> Result<u64, SqlError> {
    with(|host| match &mut host.execute {
        Some(answer) => answer(statement, params).map_err(SqlError::from),
        None => Err(SqlError::NotGranted(format!("statement `{statement}` is not granted"))),
    })
}

pub(crate) fn query(statement: &str, params: &[Value]) -> Result<Rows, SqlError> {
    with(|host| match &mut host.query {
        Some(answer) => {
            let (columns, rows) = answer(statement, params)?;
            Ok(Rows { columns, rows })
        }
        None => Err(SqlError::NotGranted(format!("statement `{statement}` is not granted"))),
    })
}

impl From<Error> for SqlError {
    fn from(error: Error) -> Self {
        match error {
            Error::NotGranted(reason) => SqlError::NotGranted(reason),
            Error::Invalid(reason) => SqlError::Invalid(reason),
            Error::Refused(reason) => SqlError::Refused(reason),
            Error::Unavailable(reason) => SqlError::Unavailable(reason),
            Error::TooLarge(reason) => SqlError::TooLarge(reason),
        }
    }
}
