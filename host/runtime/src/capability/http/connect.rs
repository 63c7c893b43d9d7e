//! Connections, of which a handler has no more than so many at a time.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower_service::Service;

use super::resolve::Checked;

/// Connects by TCP, as long as there is room; otherwise waits until a connection was closed. Without it, a guest could
/// fill the host's table of files with idle connections to the many names of a wildcard.
#[derive(Clone)]
pub(super) struct Connector {
    pub(super) tcp: HttpConnector<Checked>,
    pub(super) room: Arc<Semaphore>,
}

/// A connection that takes its place until it is closed.
pub(super) struct Counted {
    stream: TokioIo<TcpStream>,
    _place: OwnedSemaphorePermit,
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Service<Uri> for Connector {
    type Response = Counted;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Counted, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (room, connecting) = (self.room.clone(), self.tcp.call(uri));
        Box::pin(async move {
            let place = room.acquire_owned().await?;
            Ok(Counted { stream: connecting.await?, _place: place })
        })
    }
}

impl Connection for Counted {
    fn connected(&self) -> Connected {
        self.stream.connected()
    }
}

impl Read for Counted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl Write for Counted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
