//! A server that falls silent: its connections stay open, and nothing comes.

use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use workhost_queue::{
    Beat, Claim, ConnectOptions, Finish, ItemId, Outcome, Pulse, Queue, QueueError, Recorded, Status,
};

use super::held::{PATIENCE, occupy, until, wait_for_a_key};
use super::wire::Wire;
use crate::store::{LEASE, TestStore, ask, contract_on, new};

/// Shorter than a server takes that does not answer.
const GIVEN_UP: Duration = Duration::from_millis(200);

/// A connection that rested for longer is tested.
const RESTED: Duration = Duration::from_millis(150);

fn few(max_connections: u32) -> ConnectOptions {
    ConnectOptions { max_connections, ..ConnectOptions::default() }
}

/// Answers of a verb that must come.
async fn soon<T>(answer: impl Future<Output = T>) -> T {
    timeout(PATIENCE, answer).await.expect("an answer")
}

async fn beat(host: &dyn Queue, claim: &Claim) -> workhost_queue::Result<Vec<Pulse>> {
    host.heartbeat(&[Beat { fence: claim.fence(), progress: None }], LEASE).await
}

/// Lets every kind of verb do its work once.
async fn assert_working(host: &dyn Queue) {
    let id = host.enqueue(&[new("works")]).await.unwrap()[0].id();
    let claim = host.claim(&ask("h", &[("works", 1)])).await.unwrap().pop().unwrap();
    assert_eq!(claim.item.id, id);
    assert_eq!(beat(host, &claim).await.unwrap(), [Pulse::Alive]);
    assert_eq!(host.claimed("h", &[claim.fence()], LEASE).await.unwrap().len(), 0);
    let done = Finish::new(claim.fence(), Outcome::Succeeded(None));
    assert_eq!(host.finish(&[done]).await.unwrap(), [Recorded::Recorded]);
    assert_eq!(host.recover_expired(3, 10).await.unwrap(), []);
    assert_eq!(host.get(id).await.unwrap().unwrap().status, Status::Succeeded);
    host.cancel(host.enqueue(&[new("works")]).await.unwrap()[0].id()).await.unwrap();
    host.check().await.unwrap();
}

/// Whether what another host enqueues wakes this one.
async fn is_heard(store: &TestStore, wake: &Notify) -> bool {
    store.enqueue(new("a")).await;
    timeout(Duration::from_millis(500), wake.notified()).await.is_ok()
}

contract_on! { Postgres:
    async fn verbs_that_are_given_up_free_their_places_at_once(store) {
        let wire = Wire::new(&store).await;
        // A verb that waits for a place would be told so long before this test's patience ends.
        let host = wire.host(ConnectOptions { acquire_timeout: Duration::from_secs(2), ..few(2) }).await.unwrap();
        occupy(&store, &host, 2).await;
        wire.lose();
        let (one, two) = tokio::join!(
            timeout(GIVEN_UP, host.get(ItemId(1))),
            timeout(GIVEN_UP, host.counts()),
        );
        assert!(one.is_err() && two.is_err(), "the server is silent: {one:?}, {two:?}");
        until!(wire.closed() == 2);
        soon(assert_working(&*host)).await;
    }

    async fn one_silent_connection_makes_all_suspect_that_rest_for_longer(store) {
        let wire = Wire::new(&store).await;
        let host = wire.host(few(8)).await.unwrap();
        occupy(&store, &host, 8).await;
        sleep(RESTED).await;
        wire.lose();
        soon(host.get(ItemId(1))).await.unwrap();
        assert_eq!(wire.tried(), 1, "seven more seconds of waiting for nothing");
        soon(assert_working(&*host)).await;
    }

    async fn a_verb_is_not_answered_for_long_and_works_again_when_the_way_is_mended(store) {
        let wire = Wire::new(&store).await;
        let host = wire.host(few(8)).await.unwrap();
        let claim = store.running(new("a")).await;
        occupy(&store, &host, 8).await;
        wire.hold();
        for _ in 0..20 {
            let (got, beaten) = tokio::join!(timeout(GIVEN_UP, host.get(claim.item.id)), timeout(GIVEN_UP, beat(&*host, &claim)));
            assert!(got.is_err() && beaten.is_err(), "{got:?}, {beaten:?}");
        }
        wire.mend();
        assert_eq!(soon(beat(&*host, &claim)).await.unwrap(), [Pulse::Alive]);
        soon(assert_working(&*host)).await;
    }

    async fn a_heartbeat_is_answered_although_every_other_connection_is_stuck(store) {
        let host = store.host_with(few(2)).await;
        let claim = store.running(new("a")).await;
        let (holder, mut waiting) = wait_for_a_key(&store, &host, 2).await;
        assert_eq!(soon(beat(&*host, &claim)).await.unwrap(), [Pulse::Alive]);
        assert!(waiting.try_join_next().is_none(), "they are still stuck");
        holder.rollback().await.unwrap();
        for answer in waiting.join_all().await {
            answer.unwrap();
        }
    }

    async fn a_heartbeat_that_was_given_up_is_followed_by_one_on_another_connection(store) {
        let wire = Wire::new(&store).await;
        let host = wire.host(few(1)).await.unwrap();
        let claim = store.running(new("a")).await;
        assert_eq!(beat(&*host, &claim).await.unwrap(), [Pulse::Alive]);
        for _ in 0..3 {
            let opened = wire.opened();
            wire.lose();
            let given_up = timeout(GIVEN_UP, beat(&*host, &claim)).await;
            assert!(given_up.is_err(), "{given_up:?}");
            assert_eq!(soon(beat(&*host, &claim)).await.unwrap(), [Pulse::Alive]);
            assert_eq!(wire.opened(), opened + 1);
        }
    }

    async fn a_verb_that_is_given_up_in_its_transaction_gives_its_rows_back(store) {
        let wire = Wire::new(&store).await;
        let host = wire.host(few(1)).await.unwrap();
        let id = store.enqueue(new("a")).await;
        let mut somebody = store.pg().begin().await.unwrap();
        sqlx::query("select from work_items for update").execute(&mut *somebody).await.unwrap();
        let mut cancel = Box::pin(host.cancel(id));
        let has_the_row = async {
            let sessions = "select count(*) from pg_stat_activity where datname = current_database() and ";
            until!(store.number(format!("{sessions} wait_event_type = 'Lock'")).await == 1);
            // What it does now it does, and nobody hears of it.
            wire.mute_after(0);
            somebody.rollback().await.unwrap();
            until!(store.number(format!("{sessions} state = 'idle in transaction' and query like '%update%'")).await == 1);
        };
        tokio::select! {
            answer = &mut cancel => panic!("{answer:?}"),
            () = has_the_row => {}
        }
        drop(cancel);
        until!(store.try_sql("select 1 from work_items for update nowait").await.is_ok());
        assert_eq!(store.get(id).await.status, Status::Queued);
    }

    async fn a_server_that_answers_no_new_connection_is_unavailable(store) {
        let wire = Wire::new(&store).await;
        wire.hold();
        let options = ConnectOptions { acquire_timeout: GIVEN_UP, ..ConnectOptions::default() };
        let refused = soon(wire.host(options)).await.err().unwrap();
        assert!(matches!(refused, QueueError::Unavailable { .. }), "{refused:?}");
        assert!(refused.to_string().contains("did not answer a new connection within 200ms"), "{refused}");
    }

    async fn a_listener_on_a_silent_connection_listens_again(store) {
        let wire = Wire::new(&store).await;
        let host = wire.host(few(1)).await.unwrap();
        let wake = host.wake();
        until!(is_heard(&store, &wake).await);
        while timeout(Duration::from_millis(300), wake.notified()).await.is_ok() {}
        wire.lose();
        assert!(!is_heard(&store, &wake).await, "nothing comes any more");
        timeout(PATIENCE, wake.notified()).await.expect("something may have been missed");
        until!(is_heard(&store, &wake).await);
    }
}
