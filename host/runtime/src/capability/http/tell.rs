//! What the log of an attempt says of its requests: each denial with its mend, each limit by its name.
//!
//! A query and a body can hold secrets, so neither is ever told.

use std::error::Error as StdError;
use std::fmt::Display;
use std::net::IpAddr;
use std::sync::{Arc, Weak};

use tracing::Level;
use wasmtime_wasi_http::Error;

use super::body::Broken;
use super::client::FIELDS;
use super::failure::{self, Failure};
use super::origin::{NoOrigin, Origin};
use super::{Granted, HttpLimits};
use crate::capability::Caller;
use crate::output::Output;
use crate::text;

/// Bytes of a URL's path that are shown.
const PATH_BYTES: usize = 200;

/// Speaks of one request.
#[derive(Clone)]
pub(super) struct Tell {
    caller: Arc<Caller>,
    /// Not kept alive by a request: it is whole once the sandbox is gone.
    output: Weak<Output>,
    /// Without user, query and fragment.
    url: String,
    granted: Arc<Granted>,
    limits: HttpLimits,
}

impl Tell {
    pub(super) fn new(caller: Arc<Caller>, output: Weak<Output>, granted: Arc<Granted>, limits: HttpLimits) -> Self {
        Tell { caller, output, url: String::new(), granted, limits }
    }

    /// Speaks of a request to this origin from now on.
    pub(super) fn of(self, origin: &Origin, path: &str) -> Self {
        Tell { url: format!("{origin}{}", text::harmless_line(path, PATH_BYTES)), ..self }
    }

    pub(super) fn is_ended(&self) -> bool {
        self.caller.is_ended()
    }

    /// The URL has no origin.
    pub(super) fn no_origin(&self, why: NoOrigin) -> Error {
        let why = match why {
            NoOrigin::Scheme => "its scheme is neither http nor https",
            NoOrigin::Host => "its host is none that there can be",
            NoOrigin::UserInfo => "it has a user before its host",
            NoOrigin::Path => "its host has characters that none has",
        };
        self.line(Level::WARN, format_args!("http request denied: {why}"));
        Error::HttpRequestUriInvalid
    }

    /// The origin is not on the handler's list.
    pub(super) fn denied(&self, origin: &Origin) -> Error {
        let Granted { handler, allow, .. } = &*self.granted;
        let mend = line("allow", allow, &[origin.to_string()]);
        self.warn(format_args!(
            "denied: it is not granted to handler {handler}; to allow it, write into its [handlers.http]: {mend}"
        ));
        Error::HttpRequestDenied
    }

    /// The name leads to addresses that are not public.
    fn refused(&self, addresses: &[(IpAddr, &'static str)]) -> Error {
        let Granted { handler, private, .. } = &*self.granted;
        let list = addresses.iter().map(|(address, what)| format!("{address} ({what})")).collect::<Vec<_>>().join(", ");
        let new: Vec<String> = addresses.iter().map(|(address, _)| address.to_string()).collect();
        let mend = line("private", private, &new);
        self.warn(format_args!(
            "denied: the name leads to {list}, which is not granted to handler {handler}; to allow it, write into its \
             [handlers.http]: {mend}"
        ));
        Error::DestinationIpProhibited
    }

    /// CONNECT would make a tunnel that nobody looks into.
    pub(super) fn tunnel(&self) -> Error {
        self.warn("denied: the method CONNECT is not for handlers");
        Error::HttpRequestMethodInvalid
    }

    pub(super) fn request_head_too_large(&self) -> Error {
        let limit = self.limits.header_bytes;
        self.warn(format_args!("not sent: limit of {} for the head of a request", text::size(limit)));
        Error::HttpRequestHeaderSectionSize(u32::try_from(limit).ok())
    }

    pub(super) fn request_too_large(&self) -> Error {
        let limit = self.limits.request_bytes;
        self.warn(format_args!("broken off: limit of {} for the body of a request", text::size(limit as usize)));
        Error::HttpRequestBodySize(Some(limit))
    }

    pub(super) fn response_head_too_large(&self) -> Error {
        let limit = self.limits.header_bytes;
        self.warn(format_args!(
            "broken off: limit of {} or {FIELDS} fields for the head of a response",
            text::size(limit)
        ));
        Error::HttpResponseHeaderSectionSize(u32::try_from(limit).ok())
    }

    pub(super) fn response_too_large(&self) -> Error {
        let limit = self.limits.response_bytes;
        self.warn(format_args!("broken off: limit of {} for the body of a response", text::size(limit as usize)));
        Error::HttpResponseBodySize(Some(limit))
    }

    /// All turns were taken for as long as the request had.
    pub(super) fn too_many(&self) -> Error {
        self.warn(format_args!("not sent: limit of {} requests at a time", self.limits.requests));
        Error::ConnectionLimitReached
    }

    pub(super) fn out_of_time(&self) -> Error {
        self.warn(format_args!("broken off: limit of {:?} for a request", self.limits.time));
        Error::HttpResponseTimeout
    }

    /// It failed with this.
    pub(super) fn failed(&self, error: &(dyn StdError + 'static)) -> Error {
        match failure::of(error) {
            Failure::Body(Broken::TooLarge(_)) => self.request_too_large(),
            Failure::Body(Broken::Left) => Error::ConnectionTerminated,
            Failure::Refused(addresses) => self.refused(addresses),
            Failure::HeadTooLarge => self.response_head_too_large(),
            Failure::Other(code) => {
                // What only an operator may know, such as an address, stays out of the guest's code.
                self.line(Level::DEBUG, format_args!("http request to {}: {}", self.url, failure::words(error)));
                code
            }
        }
    }

    fn warn(&self, what: impl Display) {
        self.line(Level::WARN, format_args!("http request to {} {what}", self.url));
    }

    fn line(&self, level: Level, line: impl Display) {
        if let Some(output) = self.output.upgrade() {
            output.log(level, &line.to_string(), &[]);
        }
    }
}

/// A line of TOML: the key with what is in its list, and more.
fn line(key: &str, list: &[impl Display], more: &[String]) -> String {
    let entries = list.iter().map(ToString::to_string).chain(more.iter().cloned());
    let entries: Vec<String> = entries.map(|entry| format!("{entry:?}")).collect();
    format!("{key} = [{}]", entries.join(", "))
}
