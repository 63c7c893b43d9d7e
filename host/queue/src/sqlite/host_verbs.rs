//! The verbs by which a host works.

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::trouble::told;
use super::{SqliteQueue, claim, claimed, finish, heartbeat, hosts, recover, schedule};
use crate::ending::Ending;
use crate::{
    Beat, Claim, ClaimRequest, Fence, Finish, HostQueue, HostReport, ItemId, Periodic, Pulse, Recorded, Recovered,
    Result,
};

#[async_trait]
impl HostQueue for SqliteQueue {
    fn wake(&self) -> Arc<Notify> {
        Arc::clone(&self.wake)
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claim>> {
        self.options.limits.check_host(&request.host, request.kinds.iter().map(|kind| &kind.handler_digest))?;
        self.check_file()?;
        let asked = Instant::now();
        let claims = claim::claim(&self.writer, &self.hint, request).await.map_err(told)?;
        self.live.keep(claims.iter().map(Claim::fence), asked + request.lease);
        Ok(claims)
    }

    async fn claimed(&self, host: &str, known: &[Fence], lease: Duration) -> Result<Vec<Claim>> {
        self.options.limits.check_host(host, iter::empty::<&str>())?;
        self.check_file()?;
        let asked = Instant::now();
        let claims = claimed::claimed(&self.writer, host, known, lease).await.map_err(told)?;
        self.live.keep(claims.iter().map(Claim::fence), asked + lease);
        Ok(claims)
    }

    async fn heartbeat(&self, beats: &[Beat], lease: Duration) -> Result<Vec<Pulse>> {
        self.check_file()?;
        let asked = Instant::now();
        let pulses = heartbeat::heartbeat(&self.writer, beats, lease, &self.options.limits).await.map_err(told)?;
        for (beat, pulse) in beats.iter().zip(&pulses) {
            match pulse {
                Pulse::Alive | Pulse::CancelRequested => self.live.keep([beat.fence], asked + lease),
                Pulse::Lost => self.live.forget(beat.fence),
                Pulse::Busy => {}
            }
        }
        Ok(pulses)
    }

    async fn finish(&self, finishes: &[Finish]) -> Result<Vec<Recorded>> {
        self.check_file()?;
        let endings: Vec<Ending> = finishes.iter().map(|finish| Ending::new(finish, &self.options.limits)).collect();
        let answers = finish::finish(&self.writer, &endings).await.map_err(told)?;
        for (finish, answer) in finishes.iter().zip(&answers) {
            if *answer != Recorded::Busy {
                self.live.forget(finish.fence);
            }
        }
        Ok(answers)
    }

    async fn recover_expired(&self, max_stalls: u32, limit: u32) -> Result<Vec<Recovered>> {
        self.check_file()?;
        recover::recover_expired(&self.writer, &self.live, max_stalls, limit).await.map_err(told)
    }

    async fn enqueue_due(&self, periodics: &[Periodic]) -> Result<Vec<ItemId>> {
        let periodics = self.options.limits.sound(periodics);
        let ids = schedule::enqueue_due(&self.readers, &self.writer, &periodics).await.map_err(told)?;
        if !ids.is_empty() {
            self.wake.notify_one();
        }
        Ok(ids)
    }

    async fn host_seen(&self, report: &HostReport) -> Result<()> {
        report.check(&self.options.limits)?;
        hosts::seen(&self.writer, report, self.options.limits.hosts_kept).await.map_err(told)
    }
}
