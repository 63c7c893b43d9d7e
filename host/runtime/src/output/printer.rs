//! The streams that a guest prints on.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use super::{Output, Stream};
use crate::limiter::LimitHit;
use crate::text;

/// Standard output or error of a guest. Never full: a guest does not wait for its log. But no call brings more than a
/// limit, since the host writes it line by line before the guest meets its epoch.
#[derive(Clone)]
pub(crate) struct Printer {
    output: Arc<Output>,
    stream: Stream,
}

impl Printer {
    pub(super) fn new(output: Arc<Output>, stream: Stream) -> Self {
        Printer { output, stream }
    }
}

impl IsTerminal for Printer {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Printer {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl Pollable for Printer {
    async fn ready(&mut self) {}
}

impl OutputStream for Printer {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let most = self.output.write_bytes;
        if bytes.len() > most {
            let limit = LimitHit(format!("write larger than {}", text::size(most)));
            return Err(StreamError::Trap(limit.into()));
        }
        self.output.print(self.stream, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(self.output.write_bytes)
    }
}

impl AsyncWrite for Printer {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        let some = &bytes[..bytes.len().min(self.output.write_bytes)];
        self.output.print(self.stream, some);
        Poll::Ready(Ok(some.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
