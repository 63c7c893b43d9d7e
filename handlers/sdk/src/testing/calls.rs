//! The host's functions, answered by the [`Host`] of the test that runs on this thread.

use std::cell::RefCell;

use super::Host;
use crate::StopReason;
use crate::bindings::workhost::handler::log::Level;
use crate::bindings::workhost::handler::queue as wit;
use crate::bindings::workhost::handler::sql::{Rows, SqlError, Value};
#[cfg(feature = "http")]
use crate::http;
use crate::queue::{self, NewItem};
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

pub(crate) fn enqueue(items: &[wit::NewItem]) -> Result<Vec<wit::Enqueued>, wit::EnqueueError> {
    let items: Vec<NewItem> = items.iter().cloned().map(NewItem::from).collect();
    with(|host| match &mut host.enqueue {
        Some(answer) => answer(&items).map_err(wit::EnqueueError::from),
        None => Err(wit::EnqueueError::NotGranted("`queue` is not granted".to_owned())),
    })
}

pub(crate) fn config(key: &str) -> Option<String> {
    with(|host| host.config.get(key).map(ToString::to_string))
}

pub(crate) fn secret(name: &str) -> Option<String> {
    with(|host| host.secrets.get(name).cloned())
}

#[cfg(feature = "http")]
pub(crate) fn send(request: http::Request) -> Result<http::Response, http::Error> {
    with(|host| match &mut host.send {
        Some(answer) => answer(request),
        None => Err(http::Error::NotGranted("`http` is not granted".to_owned())),
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

impl From<wit::NewItem> for NewItem {
    fn from(item: wit::NewItem) -> Self {
        NewItem(item)
    }
}

impl From<queue::Error> for wit::EnqueueError {
    fn from(error: queue::Error) -> Self {
        match error {
            queue::Error::NotGranted(reason) => wit::EnqueueError::NotGranted(reason),
            queue::Error::Invalid(reason) => wit::EnqueueError::Invalid(reason),
            queue::Error::Unavailable(reason) => wit::EnqueueError::Unavailable(reason),
        }
    }
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
