//! How far a command is, on standard error where that is a terminal.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// The bar that is on the screen.
static SHOWN: OnceLock<ProgressBar> = OnceLock::new();

/// Shows a bar for so many components. Nothing is shown where standard error is no terminal.
pub(super) fn components(count: usize) -> ProgressBar {
    let bar = ProgressBar::new(count as u64);
    if let Ok(style) = ProgressStyle::with_template("loading components {wide_bar} {pos}/{len} {elapsed}") {
        bar.set_style(style);
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    let _ = SHOWN.set(bar.clone());
    bar
}

/// Standard error for the log: its lines go above the bar instead of through it.
pub(super) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match SHOWN.get() {
            Some(bar) if !bar.is_finished() => bar.suspend(|| io::stderr().write(bytes)),
            _ => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
