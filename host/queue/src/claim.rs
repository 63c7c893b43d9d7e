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
    /// How many items that are on their last chance.
    pub last_chances: LastChances,
}

/// How many items a claim takes that one more stall fails.
///
/// What a host runs at the same time stalls together. Beside an item that kills its host each time, others would fail with
/// it, if they were claimed together every time until their last.
#[derive(Clone, Copy, Debug)]
pub struct LastChances {
    /// How many stalls such items have at least.
    pub stalls: u32,
    /// How many of them are taken at most.
    pub limit: u32,
}

impl Default for LastChances {
    /// Takes all items alike.
    fn default() -> Self {
        LastChances { stalls: u32::MAX, limit: 0 }
    }
}

impl LastChances {
    /// How many may still be taken after these claims.
    pub(crate) fn after(self, claims: &[Claim]) -> LastChances {
        let taken = claims.iter().filter(|claim| claim.item.stalls >= self.stalls).count();
        LastChances { limit: self.limit.saturating_sub(u32::try_from(taken).unwrap_or(u32::MAX)), ..self }
    }
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
