//! Bodies within their limits: of requests, whose attempt must still be alive, and of responses.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use hyper::body::Incoming;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep};
use wasmtime_wasi_http::{Error, WasiBody};

use super::failure;
use super::tell::Tell;
use crate::capability::Caller;

/// Why the body of a request broke off.
#[derive(Debug)]
pub(super) enum Broken {
    /// It is larger than this many bytes.
    TooLarge(u64),
    /// Its attempt was ended, or left it unfinished.
    Left,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::TooLarge(limit) => write!(f, "the request's body is larger than {limit} bytes"),
            Broken::Left => write!(f, "the attempt left the request's body unfinished"),
        }
    }
}

impl std::error::Error for Broken {}

/// What a guest sends. It breaks off with its attempt, so that no server takes a part for the whole.
pub(super) struct RequestBody {
    pub(super) inner: WasiBody,
    pub(super) limit: u64,
    pub(super) sent: u64,
    pub(super) caller: Arc<Caller>,
    /// Gone with the sandbox.
    pub(super) sandbox: Weak<()>,
}

impl RequestBody {
    fn is_left(&self) -> bool {
        self.caller.is_ended() || self.sandbox.strong_count() == 0
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        // Asked after the frame: when a sandbox goes, its body seems to have come to its end.
        if self.is_left() {
            return Poll::Ready(Some(Err(Broken::Left)));
        }
        polled.map(|frame| {
            let frame = frame?.map_err(|_| Broken::Left);
            if let Some(data) = frame.as_ref().ok().and_then(Frame::data_ref) {
                self.sent += data.len() as u64;
                if self.sent > self.limit {
                    return Some(Err(Broken::TooLarge(self.limit)));
                }
            }
            Some(frame)
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }
}

/// What a guest receives. Holds the request's turn until it has come to its end, or the guest dropped it.
pub(super) struct ResponseBody {
    pub(super) inner: Incoming,
    pub(super) limit: u64,
    pub(super) received: u64,
    pub(super) deadline: Pin<Box<Sleep>>,
    /// The guest's own patience between two pieces, if it has any.
    pub(super) between: Option<(Duration, Pin<Box<Sleep>>)>,
    pub(super) turn: Option<OwnedSemaphorePermit>,
    pub(super) tell: Tell,
}

impl ResponseBody {
    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if self.tell.is_ended() {
            return Poll::Ready(Some(Err(Error::ConnectionTerminated)));
        }
        // Before the next piece: there may always be one.
        if Instant::now() >= self.deadline.deadline() {
            self.tell.out_of_time();
            return Poll::Ready(Some(Err(Error::HttpResponseTimeout)));
        }
        match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                self.received += frame.data_ref().map_or(0, |data| data.len() as u64);
                if self.received > self.limit {
                    return Poll::Ready(Some(Err(self.tell.response_too_large())));
                }
                if let Some((patience, sleep)) = &mut self.between {
                    sleep.as_mut().reset(failure::after(*patience));
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(self.tell.failed(&error)))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => {
                if self.deadline.as_mut().poll(cx).is_ready() {
                    self.tell.out_of_time();
                    return Poll::Ready(Some(Err(Error::HttpResponseTimeout)));
                }
                if let Some((_, sleep)) = &mut self.between
                    && sleep.as_mut().poll(cx).is_ready()
                {
                    return Poll::Ready(Some(Err(Error::ConnectionReadTimeout)));
                }
                Poll::Pending
            }
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let polled = self.next(cx);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.turn = None;
        }
        polled
    }
}
