//! The streams that a guest prints on.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use super::{Output, Stream};

/// Standard output or error of a guest. Takes everything at once: a guest never waits for its log.
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
        self.output.print(self.stream, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}

impl AsyncWrite for Printer {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        self.output.print(self.stream, bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
