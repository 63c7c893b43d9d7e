//! The verbs by which a host works.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;

use crate::{
    Beat, Claim, ClaimRequest, Fence, Finish, HostReport, ItemId, Periodic, Pulse, Recorded, Recovered, Result,
};

/// What a host that runs work does with the queue: it finds what is due, claims it, keeps the claims alive and records
/// how they ended. What [`Queue`](crate::Queue) says of all verbs holds for these.
#[async_trait]
pub trait HostQueue: Send + Sync + 'static {
    /// Is notified when new work may be there: after an enqueue by this process, and, as a hint, by
    /// others. A wake while nobody waits is kept.
    fn wake(&self) -> Arc<Notify>;

    /// Takes up to `request.limit` due items by priority (higher first), run_at and id; never an
    /// unknown kind, never two of one scope. Of each scope only its head is taken.
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claim>>;

    /// Answers what this owner (host name and boot nonce) holds beyond the `known` attempts, each with a new lease:
    /// claims whose answer was lost on the way. Nothing that people see changes.
    ///
    /// Asked while a claim of the same owner is under way, it may answer what that claim answers too. A row that
    /// somebody has locked, or a claim that the store has not ended yet, is left for a later call.
    async fn claimed(&self, host: &str, known: &[Fence], lease: Duration) -> Result<Vec<Claim>>;

    /// Extends the leases of all that a host runs and stores the newest progress. Answers in order.
    async fn heartbeat(&self, beats: &[Beat], lease: Duration) -> Result<Vec<Pulse>>;

    /// Records how attempts ended. Each is fenced on its own; one bad row never harms another.
    /// Answers in order; repeating a recorded finish is answered `Recorded` again.
    async fn finish(&self, finishes: &[Finish]) -> Result<Vec<Recorded>>;

    /// Ends attempts whose lease ran out: back to the queue with a stall counted, failed as `stalled`
    /// when `max_stalls` is reached, cancelled where a cancel was requested. Bounded by `limit`.
    async fn recover_expired(&self, max_stalls: u32, limit: u32) -> Result<Vec<Recovered>>;

    /// Enqueues each periodic kind that is due: nothing queued or running under its key, and nothing finished within
    /// its interval, or, by a cron schedule, a slot between the creation of its last run and now. However many slots
    /// were missed, and however many hosts race, there is one item.
    async fn enqueue_due(&self, periodics: &[Periodic]) -> Result<Vec<ItemId>>;

    /// Keeps what a host says of itself, for people to see; nothing depends on it. Hosts that were not seen for longer
    /// than the limit are forgotten.
    async fn host_seen(&self, report: &HostReport) -> Result<()>;
}
