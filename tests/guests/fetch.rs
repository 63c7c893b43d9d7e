//! Sends requests one after the other, and says what came of them. Follows redirects if it is told to.

use std::io::Read;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workhost_sdk::http::{Error, Request, Response};
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fetch {
    url: String,
    #[serde(default = "get")]
    method: String,
    /// How often.
    #[serde(default = "one")]
    times: u32,
    /// Whether to go where a redirect points.
    #[serde(default)]
    follow: bool,
    /// Bytes of the value of a header.
    #[serde(default)]
    header_bytes: usize,
    /// Bytes of the request's body.
    #[serde(default)]
    body_bytes: usize,
}

/// What came of the last request.
#[derive(Default, Serialize)]
struct Fetched {
    status: u16,
    /// Bytes of the body that were read.
    bytes: u64,
    /// The beginning of the body.
    text: String,
    location: Option<String>,
    error: Option<String>,
}

fn get() -> String {
    "GET".into()
}

fn one() -> u32 {
    1
}

impl Handler for Fetch {
    const KIND: &'static str = "fetch";
    const SUMMARY: &'static str = "Sends requests, and says what came of them.";
    type Summary = Fetched;

    fn run(self, _: &Work) -> Result<Ending<Fetched>, Failure> {
        let mut fetched = Fetched::default();
        for _ in 0..self.times {
            fetched = self.fetch(&self.url);
        }
        if self.follow
            && let Some(location) = fetched.location.take()
        {
            fetched = self.fetch(&location);
        }
        Ok(Ending::Done(fetched))
    }
}

impl Fetch {
    fn fetch(&self, url: &str) -> Fetched {
        let mut request = Request::new(self.method.as_str(), url);
        request.body = vec![b'x'; self.body_bytes];
        if self.header_bytes > 0 {
            request = request.header("x-long", vec![b'x'; self.header_bytes]);
        }
        match request.send() {
            Ok(response) => read(response),
            Err(error) => Fetched { error: Some(error.to_string()), ..Fetched::default() },
        }
    }
}

fn read(mut response: Response) -> Fetched {
    let location = response.header("location").map(str::to_owned);
    let mut fetched = Fetched { status: response.status, location, ..Fetched::default() };
    let mut buffer = vec![0; 64 << 10];
    loop {
        match response.body.read(&mut buffer) {
            Ok(0) => return fetched,
            Ok(read) => {
                if fetched.bytes == 0 {
                    fetched.text = String::from_utf8_lossy(&buffer[..read.min(100)]).into_owned();
                }
                fetched.bytes += read as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                let known = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
                fetched.error = Some(known.map_or_else(|| error.to_string(), Error::to_string));
                return fetched;
            }
        }
    }
}

export_handlers!(Fetch);
