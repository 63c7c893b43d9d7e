//! The verbs by which a host works.

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;

use super::trouble::{retrying, told};
use super::{PostgresQueue, claim, claimed, finish, heartbeat, hosts, recover, schedule};
use crate::ending::Ending;
use crate::{
    Beat, Claim, ClaimRequest, Fence, Finish, HostQueue, HostReport, ItemId, Periodic, Pulse, Recorded, Recovered,
    Result,
};

#[async_trait]
impl HostQueue for PostgresQueue {
    fn wake(&self) -> Arc<Notify> {
        Arc::clone(&self.wake)
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claim>> {
        self.options.limits.check_host(&request.host, request.kinds.iter().map(|kind| &kind.handler_digest))?;
        retrying(|| claim::claim(&self.pool, &self.hint, request)).await
    }

    async fn claimed(&self, host: &str, known: &[Fence], lease: Duration) -> Result<Vec<Claim>> {
        self.options.limits.check_host(host, iter::empty::<&str>())?;
        retrying(|| claimed::claimed(&self.pool, host, known, lease)).await
    }

    async fn heartbeat(&self, beats: &[Beat], lease: Duration) -> Result<Vec<Pulse>> {
        let beats: Vec<heartbeat::Sign> =
            beats.iter().map(|beat| heartbeat::Sign::new(beat, &self.options.limits)).collect();
        retrying(|| heartbeat::heartbeat(&self.heartbeats, &beats, lease)).await
    }

    async fn finish(&self, finishes: &[Finish]) -> Result<Vec<Recorded>> {
        let endings: Vec<Ending> = finishes.iter().map(|finish| Ending::new(finish, &self.options.limits)).collect();
        finish::finish(&self.pool, &endings).await.map_err(told)
    }

    async fn recover_expired(&self, max_stalls: u32, limit: u32) -> Result<Vec<Recovered>> {
        recover::recover_expired(&self.pool, max_stalls, limit).await.map_err(told)
    }

    async fn enqueue_due(&self, periodics: &[Periodic]) -> Result<Vec<ItemId>> {
        let periodics = self.options.limits.sound(periodics);
        let ids = retrying(|| schedule::enqueue_due(&self.pool, &periodics)).await?;
        if !ids.is_empty() {
            self.wake.notify_one();
        }
        Ok(ids)
    }

    async fn host_seen(&self, report: &HostReport) -> Result<()> {
        report.check(&self.options.limits)?;
        retrying(|| hosts::seen(&self.pool, report, self.options.limits.hosts_kept)).await
    }
}
