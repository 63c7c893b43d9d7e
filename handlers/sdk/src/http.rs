//! The `http` capability: requests to the origins that the configuration grants. Needs the feature `http`.
//!
//! ```no_run
//! use workhost_sdk::{Failure, http::Request};
//!
//! fn notify(message: &str) -> Result<(), Failure> {
//!     let sent = Request::post("https://api.example.com/notes", message).header("content-type", "text/plain").send()?;
//!     if sent.status != 200 {
//!         return Err(Failure::new(format!("the notes answered {}", sent.status)));
//!     }
//!     Ok(())
//! }
//! ```
//!
//! Redirects are not followed: a response with status 3xx is answered as it is, and where it points to must be granted
//! like every other origin.

mod body;
#[cfg(target_family = "wasm")]
pub(crate) mod wasi;

pub use body::Body;

use crate::host;

/// A request, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST`, …
    pub method: String,
    /// Scheme, host, path and query.
    pub url: String,
    /// Names and values, in this order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// What is sent; nothing if it is empty.
    pub body: Vec<u8>,
}

/// A response, of which the head is there.
#[derive(Debug)]
pub struct Response {
    /// 200 and the like. An error of the server's is no [`Error`].
    pub status: u16,
    /// Names and values, in this order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// What follows, as it arrives.
    pub body: Body,
}

/// Why a request was not answered, or not to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The origin is not granted to this handler, or its name leads to an address that is not.
    #[error("the request was denied: {0}")]
    NotGranted(String),
    /// The URL, the method or a header is none.
    #[error("the request is invalid: {0}")]
    Invalid(String),
    /// The request or the response is larger than the host allows.
    #[error("the request or its response is too large: {0}")]
    TooLarge(String),
    /// The server could not be reached, or did not answer in time. Trying again may help.
    #[error("the server does not answer: {0}")]
    Unavailable(String),
}

impl Error {
    /// Whether the same request would meet the same error again.
    pub fn is_permanent(&self) -> bool {
        !matches!(self, Error::Unavailable(_))
    }
}

impl Request {
    /// A request without headers and body.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Request { method: method.into(), url: url.into(), headers: Vec::new(), body: Vec::new() }
    }

    /// Asks for what is there.
    pub fn get(url: impl Into<String>) -> Self {
        Request::new("GET", url)
    }

    /// Hands something over.
    pub fn post(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Request { body: body.into(), ..Request::new("POST", url) }
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sends it, and waits for the head of the response.
    ///
    /// # Errors
    /// Says why there is no response. Whether the server got the request is not known then.
    pub fn send(self) -> Result<Response, Error> {
        host::send(self)
    }
}

impl Response {
    /// The first value of a header, if there is one and it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok()
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;
    use crate::testing::Host;
    use crate::{Ending, Failure, Handler, Work};

    #[derive(Deserialize, JsonSchema)]
    struct Fetch {
        url: String,
    }

    impl Handler for Fetch {
        const KIND: &'static str = "fetch";
        const SUMMARY: &'static str = "Fetches.";
        type Summary = String;

        fn run(self, _: &Work) -> Result<Ending<String>, Failure> {
            let response = Request::get(self.url).header("accept", "text/plain").send()?;
            let kind = response.header("Content-Type").unwrap_or_default().to_owned();
            Ok(Ending::Done(format!("{} {kind} {:?}", response.status, response.body.read_all()?)))
        }
    }

    #[test]
    fn a_test_answers_the_requests_of_its_handler() {
        let ran = Host::new()
            .http(|request| {
                assert_eq!(request, Request::get("https://a.example/x").header("accept", "text/plain"));
                let headers = vec![("content-type".into(), b"text/plain".to_vec())];
                Ok(Response { status: 200, headers, body: Body::from(b"hi".to_vec()) })
            })
            .run::<Fetch>(r#"{"url":"https://a.example/x"}"#);
        assert_eq!(ran.ending, Ok(Ending::Done("200 text/plain [104, 105]".into())));
    }

    #[test]
    fn without_a_grant_a_request_is_denied_for_good() {
        let failure = Host::new().run::<Fetch>(r#"{"url":"https://a.example/x"}"#).ending.unwrap_err();
        assert!(failure.permanent && failure.message.contains("not granted"), "{failure:?}");
    }
}
