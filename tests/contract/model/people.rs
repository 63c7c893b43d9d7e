//! What people do, and what is kept of it, on the store and on the reference.

use std::sync::Arc;

use time::OffsetDateTime;
use workhost_queue::{
    AuditPage, CancelAnswer, Deed, HostReport, ItemId, NewToken, Pausable, QueueError, Role, Status, TokenId,
};

use super::steps::{Act, KINDS, PEOPLE};
use super::times::{settle_if_any, settle_time};
use super::world::World;

const NAMES: [&str; 2] = ["ci", "ops"];

impl World {
    pub(super) async fn act(&mut self, host: usize, by: Option<usize>, act: &Act) {
        let (queue, by) = (Arc::clone(&self.hosts[host]), by.map(|person| PEOPLE[person]));
        match act {
            Act::Cancel { item, running } => {
                let mut known = if *running { self.reference.of_status(Status::Running) } else { Vec::new() };
                if known.is_empty() {
                    known = self.reference.items.keys().copied().chain([ItemId(self.largest.0 + 1)]).collect();
                }
                let id = *item.get(&known);
                let asked = self.reference.items.get(&id).is_some_and(|item| item.cancel_requested_at.is_some());
                let answer = self.reference.cancel(id);
                assert_eq!(queue.cancel_by(id, by).await.unwrap(), answer);
                if !asked && matches!(answer, CancelAnswer::Cancelled | CancelAnswer::Requested) {
                    self.reference.records.deed(by, "cancel", format!("item {id}"), Some(id));
                }
            }
            Act::Pause(work) => {
                assert_eq!(queue.pause(work, by).await.unwrap(), self.reference.records.pause(work, by));
            }
            Act::Resume(which) => {
                let nothing = Pausable::Scope { scope: "never".to_owned() };
                let known: Vec<Pausable> = self.reference.records.pauses.keys().cloned().chain([nothing]).collect();
                let work = which.get(&known);
                assert_eq!(queue.resume(work, by).await.unwrap(), self.reference.records.resume(work, by));
            }
            Act::AddToken { name, role, secret } => {
                let token = NewToken { name: NAMES[*name].to_owned(), role: Role::ALL[*role], sha256: [*secret; 32] };
                let id = match queue.add_token(&token, by).await {
                    Ok(id) => Some(id),
                    Err(QueueError::Invalid { field: "name", .. }) => None,
                    Err(error) => panic!("{error}"),
                };
                self.reference.records.add_token(&token, id, by);
            }
            Act::RevokeToken(which) => {
                let tokens = &mut self.reference.records;
                let known: Vec<TokenId> = tokens.tokens.iter().map(|(t, _)| t.id).chain([TokenId(i64::MAX)]).collect();
                let id = *which.get(&known);
                assert_eq!(queue.revoke_token(id, by).await.unwrap(), tokens.revoke_token(id, by));
            }
            Act::ShowToken { secret } => {
                let found = queue.token_by_hash(&[*secret; 32]).await.unwrap();
                assert_eq!(found, self.reference.records.show_token(*secret));
            }
            Act::Reload => {
                let (actor, target) = (by.map(str::to_owned), "registry".to_owned());
                queue.audit(&Deed { actor, action: "reload".to_owned(), target, item: None }).await.unwrap();
                self.reference.records.deed(by, "reload", "registry".to_owned(), None);
            }
        }
    }

    pub(super) async fn seen(&mut self, host: usize, kinds: usize, slots: u32) {
        let kinds = KINDS[..kinds].iter().map(|&kind| kind.to_owned()).collect();
        let report = HostReport { host: format!("h{host}"), kinds, slots };
        self.hosts[host].host_seen(&report).await.unwrap();
        self.reference.records.seen(&report);
    }

    /// What is kept beside the items is what the reference keeps.
    pub(super) async fn compare_records(&mut self, began: OffsetDateTime) {
        let (queue, records) = (&self.store.queue, &mut self.reference.records);

        let mut paused = queue.paused().await.unwrap();
        paused.sort_by(|a, b| a.work.cmp(&b.work));
        for (expected, actual) in records.pauses.values_mut().zip(&paused) {
            settle_time(&mut expected.since, actual.since, began);
        }
        assert_eq!(paused, records.pauses.values().cloned().collect::<Vec<_>>(), "what is paused");

        let mut deeds = queue.audit_log(&AuditPage { limit: 500, ..AuditPage::default() }).await.unwrap();
        deeds.reverse();
        assert!(deeds.is_sorted_by(|before, after| before.id < after.id), "{deeds:?}");
        for (expected, actual) in records.deeds.iter_mut().zip(&deeds) {
            settle_time(&mut expected.at, actual.at, began);
            // Its number, once it is known, stays.
            expected.id = if expected.id == 0 { actual.id } else { expected.id };
        }
        assert_eq!(deeds, records.deeds, "what was done");

        let tokens = queue.tokens().await.unwrap();
        for ((expected, _), actual) in records.tokens.iter_mut().zip(&tokens) {
            settle_time(&mut expected.created_at, actual.created_at, began);
            settle_if_any(&mut expected.last_used_at, actual.last_used_at, began);
            settle_if_any(&mut expected.revoked_at, actual.revoked_at, began);
        }
        assert_eq!(tokens, records.tokens.iter().map(|(token, _)| token.clone()).collect::<Vec<_>>());

        let hosts = queue.hosts().await.unwrap();
        for (expected, actual) in records.hosts.values_mut().zip(&hosts) {
            settle_time(&mut expected.first_seen_at, actual.first_seen_at, began);
            settle_time(&mut expected.last_seen_at, actual.last_seen_at, began);
        }
        assert_eq!(hosts, records.hosts.values().cloned().collect::<Vec<_>>(), "the hosts that were seen");
    }
}
