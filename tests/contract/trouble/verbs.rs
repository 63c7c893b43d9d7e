//! Every verb that writes, called on a store in trouble.

use std::time::Duration;

use workhost_queue::{
    Beat, Claim, Deed, Finish, HostReport, NewToken, Outcome, Pausable, Periodic, Queue, QueueError, Result, Role,
    Schedule, TokenId,
};

use crate::store::{LEASE, ask, json, keyed};

/// Collects the verbs that were not answered `Unavailable`.
#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn told<T: std::fmt::Debug>(&mut self, verb: &str, answer: Result<T>) {
        if !matches!(answer, Err(QueueError::Unavailable { .. })) {
            self.0.push(format!("{verb}: {answer:?}"));
        }
    }
}

/// Calls every verb that writes an item, and tells those that were not answered `Unavailable`.
pub(super) async fn not_unavailable(queue: &dyn Queue, claim: &Claim) -> Vec<String> {
    let periodic =
        Periodic { kind: "p".to_owned(), scope: None, payload: json("{}"), schedule: Schedule::Every(LEASE) };
    let beat = Beat { fence: claim.fence(), progress: Some(json("1")) };
    let finish = Finish::new(claim.fence(), Outcome::Succeeded(None));
    let mut wrong = Wrong::default();
    wrong.told("enqueue", queue.enqueue(&[keyed("a", "k")]).await);
    wrong.told("enqueue_by", queue.enqueue_by(claim.fence(), &[keyed("a", "k")]).await);
    wrong.told("enqueue_due", queue.enqueue_due(&[periodic]).await);
    wrong.told("claim", queue.claim(&ask("h", &[("a", 9)])).await);
    wrong.told("claimed", queue.claimed("a", &[], LEASE).await);
    wrong.told("heartbeat", queue.heartbeat(&[beat], LEASE).await);
    wrong.told("finish", queue.finish(&[finish]).await);
    wrong.told("cancel", queue.cancel(claim.item.id).await);
    wrong.0
}

/// The same of every verb that writes anything.
pub(super) async fn nothing_but_unavailable(queue: &dyn Queue, claim: &Claim) -> Vec<String> {
    let kind = Pausable::Kind { kind: "a".to_owned() };
    let report = HostReport { host: "h".to_owned(), kinds: vec!["a".to_owned()], slots: 1 };
    let deed = Deed { actor: None, action: "reload".to_owned(), target: "configuration".to_owned(), item: None };
    let token = NewToken { name: "new".to_owned(), role: Role::Admin, sha256: [9; 32] };
    let mut wrong = Wrong(not_unavailable(queue, claim).await);
    wrong.told("recover_expired", queue.recover_expired(3, 10).await);
    wrong.told("delete_finished", queue.delete_finished(None, Duration::ZERO, 10).await);
    wrong.told("delete_finished of an attempt", queue.delete_finished(Some(claim.fence()), Duration::ZERO, 10).await);
    wrong.told("cancel_by", queue.cancel_by(claim.item.id, Some("me")).await);
    wrong.told("pause", queue.pause(&kind, None).await);
    wrong.told("resume", queue.resume(&kind, None).await);
    wrong.told("host_seen", queue.host_seen(&report).await);
    wrong.told("audit", queue.audit(&deed).await);
    wrong.told("add_token", queue.add_token(&token, None).await);
    wrong.told("revoke_token", queue.revoke_token(TokenId(1), None).await);
    wrong.0
}
