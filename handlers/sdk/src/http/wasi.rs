//! Requests by `wasi:http`.

use std::io;

use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, HeaderError, IncomingBody, Method, OutgoingBody, OutgoingRequest, Scheme, http_error_code,
};
use wasip2::io::streams::{InputStream, StreamError};

use super::{Body, Error, Request, Response};

/// The most bytes that one read asks for.
const READ_BYTES: u64 = 64 << 10;

/// A body whose bytes are still on their way.
#[derive(Debug)]
pub(super) struct Arriving {
    // Before the body, of which it is a part.
    stream: InputStream,
    _body: IncomingBody,
}

/// Sends a request and waits for the head of its response.
pub(crate) fn send(request: Request) -> Result<Response, Error> {
    let invalid = |what: &str| Error::Invalid(what.to_owned());
    let (scheme, authority, path) = parts(&request.url).ok_or_else(|| invalid("its URL has no host"))?;
    let mut headers = request.headers;
    if !request.body.is_empty() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
        headers.push(("content-length".into(), request.body.len().to_string().into_bytes()));
    }
    let outgoing = OutgoingRequest::new(Fields::from_list(&headers)?);
    outgoing.set_method(&method(request.method)).map_err(|()| invalid("its method"))?;
    outgoing.set_scheme(Some(&scheme)).map_err(|()| invalid("its URL's scheme"))?;
    outgoing.set_authority(Some(authority)).map_err(|()| invalid("its URL's host"))?;
    outgoing.set_path_with_query(Some(&path)).map_err(|()| invalid("its URL's path"))?;
    let body =
        if request.body.is_empty() { None } else { Some(outgoing.body().map_err(|()| invalid("its content-length"))?) };
    let answer = outgoing_handler::handle(outgoing, None)?;
    if let Some(body) = body {
        // When this breaks off, the answer says why.
        let _ = write(body, &request.body);
    }
    answer.subscribe().block();
    let response = answer.get().expect("it is ready").expect("nobody took it before")?;
    let body = response.consume().expect("nobody took it before");
    let stream = body.stream().expect("nobody took it before");
    Ok(Response {
        status: response.status(),
        headers: response.headers().entries(),
        body: Body::arriving(Arriving { stream, _body: body }),
    })
}

fn write(body: OutgoingBody, mut rest: &[u8]) -> Result<(), StreamError> {
    let stream = body.write().expect("nobody took it before");
    while !rest.is_empty() {
        match stream.check_write()? as usize {
            0 => stream.subscribe().block(),
            room => {
                let (now, later) = rest.split_at(room.min(rest.len()));
                stream.write(now)?;
                rest = later;
            }
        }
    }
    drop(stream);
    // A body of another length than was said: the answer tells.
    let _ = OutgoingBody::finish(body, None);
    Ok(())
}

impl io::Read for Arriving {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        match self.stream.blocking_read((buffer.len() as u64).min(READ_BYTES)) {
            Ok(bytes) => {
                buffer[..bytes.len()].copy_from_slice(&bytes);
                // No bytes are no end here; a reader would take them for one.
                if bytes.is_empty() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(bytes.len()) }
            }
            Err(StreamError::Closed) => Ok(0),
            Err(StreamError::LastOperationFailed(error)) => Err(io::Error::other(match http_error_code(&error) {
                Some(code) => Error::from(code),
                None => Error::Unavailable(error.to_debug_string()),
            })),
        }
    }
}

/// Scheme, authority, and path with query.
fn parts(url: &str) -> Option<(Scheme, &str, String)> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    };
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    (!authority.is_empty()).then_some((scheme, authority, path))
}

fn method(name: String) -> Method {
    match name.as_str() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        "PATCH" => Method::Patch,
        _ => Method::Other(name),
    }
}

impl From<HeaderError> for Error {
    fn from(error: HeaderError) -> Self {
        Error::Invalid(format!("a header: {error}"))
    }
}

impl From<ErrorCode> for Error {
    fn from(code: ErrorCode) -> Self {
        let words = format!("{code:?}");
        let words = words.strip_prefix("ErrorCode::").unwrap_or(&words).to_owned();
        match code {
            ErrorCode::HttpRequestDenied | ErrorCode::DestinationIpProhibited => Error::NotGranted(words),
            ErrorCode::HttpRequestUriInvalid | ErrorCode::HttpRequestMethodInvalid => Error::Invalid(words),
            ErrorCode::HttpRequestBodySize(_)
            | ErrorCode::HttpRequestHeaderSectionSize(_)
            | ErrorCode::HttpResponseBodySize(_)
            | ErrorCode::HttpResponseHeaderSectionSize(_) => Error::TooLarge(words),
            _ => Error::Unavailable(words),
        }
    }
}
