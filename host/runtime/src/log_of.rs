//! What some code logs, for tests.

use std::io::Write;
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;

/// Collects what the subscriber writes.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

/// The events that this makes on its thread, from `INFO` up, one per line and without their time.
pub(crate) fn log_of(code: impl FnOnce()) -> Vec<String> {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).without_time().finish();
    tracing::subscriber::with_default(subscriber, code);
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    text.lines().map(|line| line.trim().to_owned()).collect()
}
