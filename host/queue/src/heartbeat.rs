//! Heartbeats, and what they are answered.

use crate::{Fence, Json};

/// One attempt's sign of life.
#[derive(Clone, Debug)]
pub struct Beat {
    /// Whose.
    pub fence: Fence,
    /// The newest progress, if there is one that was not yet stored.
    pub progress: Option<Json>,
}

/// What a heartbeat is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulse {
    /// The attempt holds its item; the lease is extended.
    Alive,
    /// The same, and somebody wants the item cancelled.
    CancelRequested,
    /// The attempt no longer holds the item. Nothing was written; nothing may be.
    Lost,
    /// Somebody else has the row locked. Nothing was written; the lease runs on. Beat again.
    Busy,
}
