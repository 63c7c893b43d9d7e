//! What a handler is given to run.

/// One work item, as one attempt sees it.
#[derive(Clone, Debug)]
pub struct Job {
    /// The item's number, the same for all attempts.
    pub id: u64,
    /// Which of the handler's kinds it is.
    pub kind: String,
    /// The item's serial key; it fills `{scope}` in the paths of granted folders.
    pub scope: Option<String>,
    /// The number of this attempt, from 1.
    pub attempt: u32,
    /// The payload, a JSON document that matches the kind's schema.
    pub payload: String,
    /// The newest progress snapshot of an earlier attempt, a JSON document.
    pub resume_from: Option<String>,
}
