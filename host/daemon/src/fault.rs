//! Named points in an attempt at which a test ends the process, as a power cut would.
//!
//! `WORKHOST_FAULT=POINT` ends it when an attempt reaches that point, `WORKHOST_FAULT=POINT@KIND` only with an attempt of
//! that kind. A build without debug assertions, and so a release, has none of it.

/// A step of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The claim was answered; nothing has begun.
    Claimed,
    /// The attempt is reported alive; its guest has not begun.
    Started,
    /// A heartbeat was answered.
    Beaten,
    /// The guest was asked to stop.
    Asked,
    /// The guest has ended; nothing was sent to the store.
    Returned,
    /// The store has answered that the end is recorded.
    Recorded,
}

impl Fault {
    /// All, in the order of an attempt.
    pub const ALL: [Fault; 6] =
        [Fault::Claimed, Fault::Started, Fault::Beaten, Fault::Asked, Fault::Returned, Fault::Recorded];

    /// The name that `WORKHOST_FAULT` takes.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Claimed => "claimed",
            Fault::Started => "started",
            Fault::Beaten => "beaten",
            Fault::Asked => "asked",
            Fault::Returned => "returned",
            Fault::Recorded => "recorded",
        }
    }

    /// Ends the process here with SIGKILL, if that was asked for.
    #[cfg(debug_assertions)]
    pub(crate) fn reached(self, kind: &str) {
        let Ok(wanted) = std::env::var("WORKHOST_FAULT") else { return };
        let (point, only) = wanted.split_once('@').map_or((wanted.as_str(), None), |(point, kind)| (point, Some(kind)));
        if point == self.name() && only.is_none_or(|only| only == kind) {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            // The signal comes in its own time; nothing may happen until then.
            loop {
                std::thread::park();
            }
        }
    }

    /// Does nothing: this build has no faults.
    #[cfg(not(debug_assertions))]
    pub(crate) fn reached(self, _kind: &str) {}
}
