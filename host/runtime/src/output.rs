//! What a guest prints and logs, as structured events, bounded in size and rate.

mod line;
mod printer;
mod tail;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing::Level;

use line::Line;
pub(crate) use printer::Printer;
pub(crate) use tail::Tail;

use crate::capability::secrets::Mask;
use crate::control::Control;
use crate::limits::Limits;

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
    write_bytes: usize,
    stderr_tail_bytes: usize,
    log_tail_bytes: usize,
    control: Arc<Control>,
    mask: Mask,
    inner: Mutex<Inner>,
}

struct Inner {
    stdout: Line,
    stderr: Line,
    stderr_tail: VecDeque<u8>,
    rate: Rate,
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
    /// What `mask` finds in it is shown to nobody.
    pub(crate) fn new(
        item: u64,
        kind: String,
        attempt: u32,
        limits: &Limits,
        control: &Arc<Control>,
        mask: Mask,
    ) -> Arc<Self> {
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
            write_bytes: limits.write_bytes,
            stderr_tail_bytes: limits.stderr_tail_bytes,
            log_tail_bytes: limits.log_tail_bytes,
            control: control.clone(),
            mask,
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
        self.mask.apply(String::from_utf8_lossy(inner.stderr_tail.make_contiguous()).into_owned())
    }

    /// One line of the log, with its fields.
    pub(crate) fn log(&self, level: Level, message: &str, fields: &[(String, String)]) {
        let line = Line::of_log(message, fields, self.line_bytes);
        self.emit(&mut self.locked().rate, Stream::Log, level, &line);
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
            line.push(content, self.line_bytes);
            if piece.ends_with(b"\n") {
                self.emit(&mut inner.rate, stream, Level::INFO, &std::mem::take(line));
            }
        }
    }

    fn emit(&self, rate: &mut Rate, stream: Stream, level: Level, line: &Line) {
        let Some(line) = line.text(self.line_bytes, &self.mask) else { return };
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
        self.emit(&mut rate, Stream::Stdout, Level::INFO, &stdout);
        self.emit(&mut rate, Stream::Stderr, Level::INFO, &stderr);
        self.tell_dropped(&mut rate);
    }
}

#[cfg(test)]
mod tests;
