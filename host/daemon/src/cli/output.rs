//! What a command prints.

use std::fmt::Display;
use std::io::{ErrorKind, Write as _};

/// Prints a line. A reader that has gone, as in `workhost list | head -1`, has seen enough; the command goes on to its
/// end and its exit status all the same.
///
/// # Errors
/// When standard output cannot be written, for example to a full disk.
pub(super) fn line(text: impl Display) -> anyhow::Result<()> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
