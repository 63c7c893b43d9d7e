//! What a guest prints and logs, as structured events, bounded in size and rate.

mod printer;
mod tail;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing::Level;

pub(crate) use printer::Printer;
pub(crate) use tail::Tail;

use crate::control::Control;
use crate::limits::Limits;
use crate::text;

/// Where a line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
    Log,
}

impl Stream {
    fn as_str(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
            Stream::Log => "log",
        }
    }
}

/// The output of one attempt. What is left in it goes out when it is dropped.
pub(crate) struct Output {
    item: u64,
    kind: String,
    attempt: u32,
    line_bytes: usize,
    stderr_tail_bytes: usize,
    log_tail_bytes: usize,
    control: Arc<Control>,
    inner: Mutex<Inner>,
}

struct Inner {
    stdout: Line,
    stderr: Line,
    stderr_tail: VecDeque<u8>,
    rate: Rate,
}

/// A line that has not ended yet.
#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    cut: usize,
}

/// How many lines may still go out in this second, and how many did not.
struct Rate {
    per_second: u32,
    left: u32,
    since: Instant,
    dropped: u64,
}

impl Output {
    /// The output of an attempt; item 0 stands for `describe`.
    pub(crate) fn new(item: u64, kind: String, attempt: u32, limits: &Limits, control: &Arc<Control>) -> Arc<Self> {
        let rate = Rate {
            per_second: limits.lines_per_second,
            left: limits.lines_per_second,
            since: Instant::now(),
            dropped: 0,
        };
        let inner = Inner { stdout: Line::default(), stderr: Line::default(), stderr_tail: VecDeque::new(), rate };
        Arc::new(Output {
            item,
            kind,
            attempt,
            line_bytes: limits.line_bytes,
            stderr_tail_bytes: limits.stderr_tail_bytes,
            log_tail_bytes: limits.log_tail_bytes,
            control: control.clone(),
            inner: Mutex::new(inner),
        })
    }

    /// A stream for the guest to print on.
    pub(crate) fn stream(self: &Arc<Self>, stream: Stream) -> Printer {
        Printer::new(self.clone(), stream)
    }

    /// The end of what was printed on stderr: a panic's own text stands nowhere else.
    pub(crate) fn stderr_tail(&self) -> String {
        let mut inner = self.locked();
        String::from_utf8_lossy(inner.stderr_tail.make_contiguous()).into_owned()
    }

    /// One line of the log.
    pub(crate) fn log(&self, level: Level, line: String) {
        let mut inner = self.locked();
        self.emit(&mut inner.rate, Stream::Log, level, text::shortened(line, self.line_bytes));
    }

    fn print(&self, stream: Stream, bytes: &[u8]) {
        let inner = &mut *self.locked();
        if stream == Stream::Stderr {
            let kept = &bytes[bytes.len().saturating_sub(self.stderr_tail_bytes)..];
            inner.stderr_tail.extend(kept);
            let excess = inner.stderr_tail.len().saturating_sub(self.stderr_tail_bytes);
            inner.stderr_tail.drain(..excess);
        }
        let line = if stream == Stream::Stderr { &mut inner.stderr } else { &mut inner.stdout };
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let content = piece.strip_suffix(b"\n").unwrap_or(piece);
            let kept = content.len().min(self.line_bytes - line.bytes.len());
            line.bytes.extend_from_slice(&content[..kept]);
            line.cut += content.len() - kept;
            if piece.ends_with(b"\n") {
                self.end_line(&mut inner.rate, stream, std::mem::take(line));
            }
        }
    }

    fn end_line(&self, rate: &mut Rate, stream: Stream, line: Line) {
        let mut text = String::from_utf8_lossy(&line.bytes).into_owned();
        if line.cut > 0 {
            text.push_str(&format!("… ({} bytes more)", line.cut));
        }
        if !text.trim().is_empty() {
            self.emit(rate, stream, Level::INFO, text);
        }
    }

    fn emit(&self, rate: &mut Rate, stream: Stream, level: Level, line: String) {
        let line = text::harmless_line(&line);
        // What is too much for the host's log may still be what the attempt said last.
        let origin = if stream == Stream::Log { level.as_str().to_lowercase() } else { stream.as_str().to_owned() };
        self.control.log_line(format!("{origin}: {line}"), self.log_tail_bytes);
        if rate.since.elapsed() >= Duration::from_secs(1) {
            self.tell_dropped(rate);
            rate.left = rate.per_second;
            rate.since = Instant::now();
        }
        if rate.left == 0 {
            rate.dropped += 1;
            return;
        }
        rate.left -= 1;
        self.event(stream.as_str(), level, &line);
    }

    fn tell_dropped(&self, rate: &mut Rate) {
        let dropped = std::mem::take(&mut rate.dropped);
        if dropped > 0 {
            self.event(
                "log",
                Level::WARN,
                &format!("{dropped} lines dropped: more than {} in a second", rate.per_second),
            );
        }
    }

    fn event(&self, stream: &str, level: Level, line: &str) {
        // A level is a constant of its place in the code, hence one place per level.
        macro_rules! event {
            ($level:expr) => {
                tracing::event!(target: "workhost::handler", $level, item = self.item, kind = self.kind, attempt = self.attempt, stream, "{line}")
            };
        }
        match level {
            Level::ERROR => event!(Level::ERROR),
            Level::WARN => event!(Level::WARN),
            Level::INFO => event!(Level::INFO),
            Level::DEBUG => event!(Level::DEBUG),
            Level::TRACE => event!(Level::TRACE),
        }
    }

    fn locked(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let inner = &mut *self.locked();
        let (stdout, stderr) = (std::mem::take(&mut inner.stdout), std::mem::take(&mut inner.stderr));
        let mut rate =
            std::mem::replace(&mut inner.rate, Rate { per_second: 0, left: 0, since: Instant::now(), dropped: 0 });
        self.end_line(&mut rate, Stream::Stdout, stdout);
        self.end_line(&mut rate, Stream::Stderr, stderr);
        self.tell_dropped(&mut rate);
    }
}

#[cfg(test)]
mod tests;
