//! What a guest's output becomes, read from the events that it makes.

use super::*;
use crate::log_of::log_of;

fn output(limits: &Limits, control: &Arc<Control>) -> Arc<Output> {
    Output::new(7, "report".into(), 2, limits, control, Mask::default())
}

/// The events of an attempt's output, one per line, without their time.
fn events(limits: &Limits, guest: impl FnOnce(&Arc<Output>)) -> Vec<String> {
    log_of(|| guest(&output(limits, &Arc::default())))
}

fn printed(pieces: &[&[u8]]) -> Vec<String> {
    events(&Limits { line_bytes: 10, ..Limits::default() }, |output| {
        for piece in pieces {
            output.print(Stream::Stdout, piece);
        }
    })
}

const BEFORE: &str = "INFO workhost::handler: ";
const AFTER: &str = r#" item=7 kind="report" attempt=2 stream="stdout""#;

#[test]
fn each_line_is_an_event_that_names_its_attempt() {
    let lines = printed(&[b"one\ntw", b"o\n\n", b"three"]);
    assert_eq!(lines, ["one", "two", "three"].map(|line| format!("{BEFORE}{line}{AFTER}")));
}

#[test]
fn endless_lines_control_codes_and_broken_text_are_handled() {
    let lines = printed(&[b"0123456789abc", b"def\n", b"\x1b[3mx\n", b"\xff\n"]);
    assert_eq!(
        lines,
        ["0123456789… (6 bytes more)", "\\u{1b}[3mx", "\u{fffd}"].map(|line| format!("{BEFORE}{line}{AFTER}"))
    );
}

#[test]
fn a_flood_is_thinned_and_the_loss_is_told() {
    let lines = events(&Limits { lines_per_second: 3, ..Limits::default() }, |output| {
        for _ in 0..1000 {
            output.log(Level::ERROR, "again", &[]);
        }
    });
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[3].contains("WARN") && lines[3].contains("997 lines dropped"), "{}", lines[3]);
}

#[test]
fn a_line_of_the_log_has_its_level_and_stays_one_line() {
    let lines = events(&Limits::default(), |output| output.log(Level::WARN, "a\nb", &[]));
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].starts_with("WARN") && lines[0].contains("a\\nb") && lines[0].ends_with(r#"stream="log""#),
        "{lines:?}"
    );
}

#[test]
fn the_end_of_stderr_is_kept() {
    let output = output(&Limits { stderr_tail_bytes: 8, ..Limits::default() }, &Arc::default());
    output.print(Stream::Stderr, b"0123");
    output.print(Stream::Stdout, b"other");
    assert_eq!(output.stderr_tail(), "0123");
    output.print(Stream::Stderr, b"456789");
    assert_eq!(output.stderr_tail(), "23456789");
    output.print(Stream::Stderr, b"a long line, longer than all");
    assert_eq!(output.stderr_tail(), "than all");
}

#[test]
fn the_end_of_all_streams_stays_with_the_attempt_also_what_was_dropped() {
    let (limits, control) = (Limits { lines_per_second: 1, ..Limits::default() }, Arc::default());
    let output = output(&limits, &control);
    output.print(Stream::Stdout, b"one\n");
    output.log(Level::WARN, "two\x1b", &[]);
    output.print(Stream::Stderr, b"three");
    drop(output);
    assert_eq!(control.log_tail().unwrap(), "stdout: one\nwarn: two\\u{1b}\nstderr: three");
}

#[test]
fn one_call_prints_no_more_than_its_limit() {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use tokio::io::AsyncWrite as _;
    use wasmtime_wasi::cli::{IsTerminal as _, StdoutStream as _};
    use wasmtime_wasi::p2::{OutputStream as _, StreamError};

    let lines = events(&Limits { write_bytes: 8, ..Limits::default() }, |output| {
        let mut printer = output.stream(Stream::Stdout);
        assert!(!printer.is_terminal());
        assert_eq!(printer.check_write().unwrap(), 8);
        assert!(matches!(printer.write("123456789".into()), Err(StreamError::Trap(_))));
        printer.p2_stream().write("1234567\n".into()).unwrap();
        let mut context = Context::from_waker(Waker::noop());
        let written = Pin::new(&mut printer).poll_write(&mut context, b"abcdefg\nh");
        assert!(matches!(written, Poll::Ready(Ok(8))), "{written:?}");
    });
    assert_eq!(lines, ["1234567", "abcdefg"].map(|line| format!("{BEFORE}{line}{AFTER}")));
}
