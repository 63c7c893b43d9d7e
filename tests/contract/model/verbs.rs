//! Each verb, called on the store and on the reference. Their answers must be equal.

use std::collections::{BTreeMap, HashSet};

use workhost_queue::{Beat, ClaimRequest, Enqueued, Finish, ItemId, NewItem, Periodic, Pulse, Recorded, Status};

use super::queued::scheduled;
use super::steps::{End, KINDS, Pick, SCOPES, Schedule, Spec};
use super::world::{HOUR, World};
use crate::store::{Engine, LEASE, ask, json};

impl World {
    pub(super) async fn enqueue(&mut self, host: usize, specs: &[Spec]) {
        let items: Vec<NewItem> = specs.iter().map(Spec::item).collect();
        let answers = self.hosts[host].enqueue(&items).await.unwrap();
        assert_eq!(answers.len(), items.len());
        for (item, answer) in items.iter().zip(answers) {
            self.reference.enqueue(item, answer, &mut self.largest);
        }
    }

    pub(super) async fn enqueue_due(&mut self, host: usize, schedules: &[Schedule]) {
        let periodics: Vec<Periodic> = schedules.iter().map(|schedule| schedule.periodic()).collect();
        let mut ids = self.hosts[host].enqueue_due(&periodics).await.unwrap().into_iter();
        for periodic in &periodics {
            if self.reference.due(periodic) {
                let id = ids.next().expect("it is due");
                self.reference.enqueue(&scheduled(periodic), Enqueued::Created(id), &mut self.largest);
            }
        }
        assert_eq!(ids.next(), None, "nothing more is due");
    }

    pub(super) async fn claim(&mut self, host: usize, slots: [u32; 3], scopes: Option<[bool; 2]>, limit: u32) {
        let kinds: Vec<_> = KINDS.into_iter().zip(slots).filter(|(_, slots)| *slots > 0).collect();
        let scopes = scopes.map(|served| {
            SCOPES.iter().zip(served).filter(|(_, served)| *served).map(|(s, _)| (*s).to_owned()).collect()
        });
        let request = ClaimRequest { scopes, limit, ..ask(&format!("h{host}"), &kinds) };
        let claims = self.hosts[host].claim(&request).await.unwrap();
        assert_eq!(crate::store::ids(&claims), self.reference.claim(&request));
        for claim in claims {
            let row = self.store.get(claim.item.id).await;
            assert_eq!(format!("{:?}", claim.item), format!("{row:?}"), "a claim tells all of the item");
            self.fences.push(claim.fence());
            self.live[host].insert(claim.fence());
        }
    }

    pub(super) async fn heartbeat(&mut self, host: usize, beats: &[(Pick, Option<u8>)]) {
        let beats: Vec<Beat> = self
            .fences_of(beats.iter().map(|(pick, _)| pick))
            .into_iter()
            .map(|(at, fence)| Beat { fence, progress: beats[at].1.map(|n| json(&n.to_string())) })
            .collect();
        let pulses = self.hosts[host].heartbeat(&beats, LEASE).await.unwrap();
        assert_eq!(pulses, beats.iter().map(|beat| self.reference.heartbeat(beat)).collect::<Vec<_>>());
        for (beat, pulse) in beats.iter().zip(pulses) {
            match pulse {
                Pulse::Lost => self.live[host].remove(&beat.fence),
                _ => self.live[host].insert(beat.fence),
            };
        }
    }

    pub(super) async fn finish(&mut self, host: usize, ends: &[(Pick, End, Option<u8>)]) {
        let mut finishes: Vec<Finish> = self
            .fences_of(ends.iter().map(|(pick, ..)| pick))
            .into_iter()
            .map(|(at, fence)| Finish {
                progress: ends[at].2.map(|n| json(&n.to_string())),
                log_tail: ends[at].2.map(|n| format!("step {n}")),
                ..Finish::new(fence, ends[at].1.outcome())
            })
            .collect();
        let answers = self.hosts[host].finish(&finishes).await.unwrap();
        for finish in &finishes {
            self.live[host].remove(&finish.fence);
        }
        let mut answered: Vec<(Finish, Recorded)> = finishes.drain(..).zip(answers).collect();
        // Which of a key is queued is the store's choice. The reference takes that one first.
        let rows = self.read().await;
        answered.sort_by_key(|(finish, _)| rows.get(&finish.fence.id).is_none_or(|row| row.status != Status::Queued));
        for (finish, answer) in &answered {
            assert_eq!(*answer, self.reference.finish(finish), "{finish:?}");
        }
    }

    pub(super) async fn recover(&mut self, host: usize, max_stalls: u32, limit: u32) {
        let recovered = self.hosts[host].recover_expired(max_stalls, limit).await.unwrap();
        let nobody = HashSet::new();
        let spared = if self.store.engine == Engine::Sqlite { &self.live[host] } else { &nobody };
        let mut expired = self.reference.expired(spared, limit);
        let status = |id: &ItemId| recovered.iter().find(|answer| answer.id == *id).map(|answer| answer.status);
        // As with a finish: the one that the store queued comes first.
        expired.sort_by_key(|id| status(id) != Some(Status::Queued));
        for id in &expired {
            self.reference.stall(*id, max_stalls);
        }
        let told: BTreeMap<_, _> = recovered.iter().map(|answer| (answer.id, (answer.status, answer.stalls))).collect();
        let of = |id: &ItemId| (*id, (self.reference.items[id].status, self.reference.items[id].stalls));
        assert_eq!(told, expired.iter().map(of).collect());
        assert_eq!(recovered.len(), expired.len());
    }

    pub(super) async fn delete_finished(&mut self, host: usize, fence: Option<&Pick>, limit: u32) {
        let fence = fence.and_then(|pick| self.fence(pick));
        let deleted = self.hosts[host].delete_finished(fence, HOUR, limit).await.unwrap();
        assert_eq!(deleted, self.reference.delete_finished(fence, HOUR, limit));
    }
}
