//! How a run ends that did not fail.

/// How a run ended that did not fail, with its summary. A summary that is `null` in JSON, such as `()`,
/// is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending<S> {
    /// The job is complete; the summary becomes the item's result.
    Done(S),
    /// The handler was asked to stop and stopped early; the summary tells how far it came. Stopping when
    /// nobody asked is recorded as a failure.
    Stopped(S),
}
