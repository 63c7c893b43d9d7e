//! A stand-in for the host, so that `cargo test` runs a handler without WebAssembly or a database.
//!
//! ```
//! # use workhost_sdk::{Ending, Failure, Handler, Work, sql, testing::Host};
//! # #[derive(serde::Deserialize, schemars::JsonSchema)]
//! # struct Purge {}
//! # impl Handler for Purge {
//! #     const KIND: &'static str = "purge";
//! #     const SUMMARY: &'static str = "Purges.";
//! #     type Summary = u64;
//! #     fn run(self, _: &Work) -> Result<Ending<u64>, Failure> { Ok(Ending::Done(sql::execute("purge", &[])?)) }
//! # }
//! let ran = Host::new()
//!     .execute(|statement, _params| {
//!         assert_eq!(statement, "purge");
//!         Ok(3)
//!     })
//!     .run::<Purge>("{}");
//! assert_eq!(ran.ending, Ok(Ending::Done(serde_json::json!(3))));
//! ```

pub(crate) mod calls;
#[cfg(feature = "sqlite")]
pub mod sqlite;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::__export::{Ending as WitEnding, WorkItem};
#[cfg(feature = "http")]
use crate::http;
use crate::queue::{self, Enqueued, NewItem};
use crate::sql::{Error, Value};
use crate::{Ending, Failure, Handler, StopReason};

type Answer<T> = Box<dyn FnMut(&str, &[Value]) -> Result<T, Error>>;
type Enqueue = Box<dyn FnMut(&[NewItem]) -> Result<Vec<Enqueued>, queue::Error>>;
type DeleteFinished = Box<dyn FnMut(u32) -> Result<u64, String>>;
#[cfg(feature = "http")]
type Send = Box<dyn FnMut(http::Request) -> Result<http::Response, http::Error>>;

/// A host that answers one run of a handler. What needs a grant is refused unless a test answers it.
#[derive(Default)]
pub struct Host {
    scope: Option<String>,
    resume_from: Option<Json>,
    execute: Option<Answer<u64>>,
    query: Option<Answer<Rows>>,
    enqueue: Option<Enqueue>,
    retention: Option<DeleteFinished>,
    config: BTreeMap<String, Json>,
    secrets: BTreeMap<String, String>,
    #[cfg(feature = "http")]
    send: Option<Send>,
    stop: Option<Box<dyn FnMut() -> Option<StopReason>>>,
    progress: Vec<Json>,
    log: Vec<String>,
}

/// What a query answers: the columns' names, and per row one value for each.
pub type Rows = (Vec<String>, Vec<Vec<Value>>);

/// What a run did.
#[derive(Debug)]
pub struct Ran {
    /// How it ended; the summary as JSON.
    pub ending: Result<Ending<Json>, Failure>,
    /// The snapshots that it reported, oldest first.
    pub progress: Vec<Json>,
    /// The messages that it logged, oldest first.
    pub log: Vec<String>,
}

impl Host {
    /// A host that grants nothing and asks for no stop.
    pub fn new() -> Self {
        Host::default()
    }

    /// The run is a second attempt, which resumes from this progress.
    pub fn resume_from(mut self, progress: Json) -> Self {
        self.resume_from = Some(progress);
        self
    }

    /// The item has this scope.
    pub fn scope(mut self, scope: &str) -> Self {
        self.scope = Some(scope.to_owned());
        self
    }

    /// Grants all statements that change rows, and answers how many rows each changed.
    pub fn execute(mut self, answer: impl FnMut(&str, &[Value]) -> Result<u64, Error> + 'static) -> Self {
        self.execute = Some(Box::new(answer));
        self
    }

    /// Grants all queries, and answers their rows.
    pub fn query(mut self, answer: impl FnMut(&str, &[Value]) -> Result<Rows, Error> + 'static) -> Self {
        self.query = Some(Box::new(answer));
        self
    }

    /// Grants the enqueueing of all kinds, and answers what each item did.
    pub fn enqueue(mut self, answer: impl FnMut(&[NewItem]) -> Result<Vec<Enqueued>, queue::Error> + 'static) -> Self {
        self.enqueue = Some(Box::new(answer));
        self
    }

    /// Sets a value of the handler's configuration.
    pub fn config(mut self, key: &str, value: impl Into<Json>) -> Self {
        self.config.insert(key.to_owned(), value.into());
        self
    }

    /// Grants a secret.
    pub fn secret(mut self, name: &str, secret: &str) -> Self {
        self.secrets.insert(name.to_owned(), secret.to_owned());
        self
    }

    /// Grants the deletion of finished items, and answers how many were deleted.
    pub fn retention(mut self, answer: impl FnMut(u32) -> Result<u64, String> + 'static) -> Self {
        self.retention = Some(Box::new(answer));
        self
    }

    /// Grants all origins, and answers the requests.
    #[cfg(feature = "http")]
    pub fn http(mut self, answer: impl FnMut(http::Request) -> Result<http::Response, http::Error> + 'static) -> Self {
        self.send = Some(Box::new(answer));
        self
    }

    /// Answers whether to stop, each time that the handler asks.
    pub fn stop(mut self, answer: impl FnMut() -> Option<StopReason> + 'static) -> Self {
        self.stop = Some(Box::new(answer));
        self
    }

    /// Runs a handler on this payload (JSON), as a component would be run.
    ///
    /// # Panics
    /// If the handler panics.
    pub fn run<H: Handler>(self, payload: &str) -> Ran {
        let item = WorkItem {
            id: 1,
            kind: H::KIND.to_owned(),
            scope: self.scope.clone(),
            attempt: if self.resume_from.is_some() { 2 } else { 1 },
            payload: payload.to_owned(),
            resume_from: self.resume_from.as_ref().map(Json::to_string),
        };
        let (ending, host) = calls::answered_by(self, || crate::export::run::<H>(item));
        let ending = match ending {
            Ok(WitEnding::Done(summary)) => Ok(Ending::Done(json(summary))),
            Ok(WitEnding::Stopped(summary)) => Ok(Ending::Stopped(json(summary))),
            Err(failure) => Err(Failure { message: failure.message, permanent: failure.permanent }),
        };
        Ran { ending, progress: host.progress, log: host.log }
    }
}

fn json(summary: Option<String>) -> Json {
    summary.map_or(Json::Null, |text| serde_json::from_str(&text).expect("this crate wrote the text as JSON"))
}
