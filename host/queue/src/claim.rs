//! Claims: what a host asks for, and what it gets.

use std::time::Duration;

use crate::{Fence, WorkItem};

/// What a host asks for when it claims.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// The owner: host name and boot nonce.
    pub host: String,
    /// The kinds that this host can run now.
    pub kinds: Vec<KindSlots>,
    /// The scopes that this host serves; `None` is all. Items without a scope go to any host.
    pub scopes: Option<Vec<String>>,
    /// How many items at most.
    pub limit: u32,
    /// How long a claim lasts without a heartbeat.
    pub lease: Duration,
}

/// A kind that a host can run, and how many more of it.
#[derive(Clone, Debug)]
pub struct KindSlots {
    /// The work kind.
    pub kind: String,
    /// Free slots for it, at least 1.
    pub slots: u32,
    /// The digest of the component that will run it, recorded with the attempt.
    pub handler_digest: String,
}

/// The exclusive right to run one item for one attempt. Not `Clone`: a claim is moved, never copied.
/// A dropped claim is recovered when its lease expires.
#[derive(Debug)]
pub struct Claim {
    /// The item as claimed: `running`, with this attempt's number.
    pub item: WorkItem,
}

impl Claim {
    /// What each write of this attempt must show.
    pub fn fence(&self) -> Fence {
        Fence { id: self.item.id, attempt: self.item.attempt }
    }
}
