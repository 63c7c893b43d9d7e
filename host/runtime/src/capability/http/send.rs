//! The choke point: every request of every handler goes through here, and nothing else sends.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

use http::uri::PathAndQuery;
use http::{Method, Request, Response, Uri, header};
use http_body_util::BodyExt;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use super::body::{RequestBody, ResponseBody};
use super::failure::after;
use super::origin::Origin;
use super::tell::Tell;
use super::{Granted, HttpLimits};
use crate::capability::Caller;
use crate::output::Output;

/// One attempt's way to send.
#[derive(Clone)]
pub(super) struct Sender {
    pub(super) granted: Arc<Granted>,
    pub(super) caller: Arc<Caller>,
    pub(super) output: Weak<Output>,
    pub(super) limits: HttpLimits,
    /// One per request at a time.
    pub(super) turns: Arc<Semaphore>,
    /// Gone with the sandbox.
    pub(super) sandbox: Weak<()>,
}

/// A place in the line of an attempt's requests, and then the right to be under way.
pub(super) type Turn = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send>>;

impl Sender {
    /// Takes a place in the line. At once, when the guest sends: a guest that reads its responses in the order of its requests
    /// waits for the first, and must not wait for one behind it.
    pub(super) fn line_up(&self) -> Turn {
        let mut turn: Turn = Box::pin(self.turns.clone().acquire_owned());
        match turn.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Box::pin(std::future::ready(turn)),
            Poll::Pending => turn,
        }
    }

    /// Sends a request, and answers the response's head with what comes after it. Redirects are responses like others.
    ///
    /// Ends with its attempt, at once.
    pub(super) async fn send(
        self,
        request: Request<WasiBody>,
        options: RequestOptions,
        turn: Turn,
    ) -> Result<Response<WasiBody>, Error> {
        let caller = self.caller.clone();
        tokio::select! {
            // The end first: nothing goes out once the attempt was ended.
            biased;
            () = caller.ended() => Err(Error::ConnectionTerminated),
            sent = self.exchange(request, options, turn) => sent,
        }
    }

    async fn exchange(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
        turn: Turn,
    ) -> Result<Response<WasiBody>, Error> {
        let deadline = after(self.limits.time);
        let tell = Tell::new(self.caller.clone(), self.output.clone(), self.granted.clone(), self.limits);
        let origin = Origin::of(request.uri()).map_err(|why| tell.no_origin(why))?;
        let tell = tell.of(&origin, request.uri().path());
        if !self.granted.allow.iter().any(|entry| entry.allows(&origin)) {
            return Err(tell.denied(&origin));
        }
        let request = self.checked(request, &origin, &tell)?;
        let turn = match timeout_at(deadline, turn).await {
            Ok(turn) => turn.expect("the semaphore is never closed"),
            Err(_) => return Err(tell.too_many()),
        };
        let head_by = options.first_byte_timeout.map(|patience| {
            after(patience.saturating_add(options.connect_timeout.unwrap_or(self.limits.connect_time)))
        });
        let response =
            match timeout_at(head_by.unwrap_or(deadline).min(deadline), self.granted.client.request(request)).await {
                Ok(Ok(response)) => response,
                Ok(Err(error)) => return Err(tell.failed(&error)),
                Err(_) if Instant::now() < deadline => return Err(Error::HttpResponseTimeout),
                Err(_) => return Err(tell.out_of_time()),
            };
        self.received(response, options, deadline, turn, tell)
    }

    /// The request as it goes out: to the origin that was allowed, in its own spelling, with a bounded head and body.
    fn checked(&self, request: Request<WasiBody>, origin: &Origin, tell: &Tell) -> Result<Request<RequestBody>, Error> {
        let (mut parts, body) = request.into_parts();
        if parts.method == Method::CONNECT {
            return Err(tell.tunnel());
        }
        let path = parts.uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        let head = path.as_str().len()
            + parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum::<usize>();
        if head > self.limits.header_bytes {
            return Err(tell.request_head_too_large());
        }
        let length = parts.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if length.unwrap_or(0) > self.limits.request_bytes {
            return Err(tell.request_too_large());
        }
        let authority = origin.to_string().split_off(origin.scheme.as_str().len() + "://".len());
        let uri = Uri::builder().scheme(origin.scheme.as_str()).authority(authority).path_and_query(path).build();
        parts.uri = uri.map_err(|_| Error::HttpRequestUriInvalid)?;
        // The client writes the host of the URI instead.
        parts.headers.remove(header::HOST);
        let body = RequestBody {
            inner: body,
            limit: self.limits.request_bytes,
            sent: 0,
            caller: self.caller.clone(),
            sandbox: self.sandbox.clone(),
        };
        Ok(Request::from_parts(parts, body))
    }

    /// The response as the guest sees it.
    fn received(
        &self,
        response: Response<hyper::body::Incoming>,
        options: RequestOptions,
        deadline: Instant,
        turn: OwnedSemaphorePermit,
        tell: Tell,
    ) -> Result<Response<WasiBody>, Error> {
        use http_body::Body;

        let (parts, inner) = response.into_parts();
        let head: usize = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
        if head > self.limits.header_bytes {
            return Err(tell.response_head_too_large());
        }
        // What it says of its length is enough to refuse it.
        if inner.size_hint().lower() > self.limits.response_bytes {
            return Err(tell.response_too_large());
        }
        let body = ResponseBody {
            // Without a body its turn is over.
            turn: (!inner.is_end_stream()).then_some(turn),
            inner,
            limit: self.limits.response_bytes,
            received: 0,
            deadline: Box::pin(tokio::time::sleep_until(deadline)),
            between: options
                .between_bytes_timeout
                .map(|patience| (patience, Box::pin(tokio::time::sleep_until(after(patience))))),
            tell,
        };
        Ok(Response::from_parts(parts, body.boxed_unsync()))
    }
}
