//! Connections that end in the middle of a verb, at each point of its conversation with the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use workhost_queue::{
    Beat, CancelAnswer, Claim, Enqueued, Finish, Outcome, Pulse, Queue, QueueError, Recorded, Status, connect,
};

use crate::store::{LEASE, TestStore, ask, contract_on, keyed, new};

/// Stands between a host and the server, and cuts their connections when it was told to.
struct Wire {
    queue: Arc<dyn Queue>,
    /// How many answers of the server still pass; below zero all do.
    passing: Arc<AtomicI64>,
    _relay: JoinSet<()>,
}

impl Wire {
    async fn new(store: &TestStore) -> Wire {
        let server: PgConnectOptions = store.url.parse().unwrap();
        let server = (server.get_host().to_owned(), server.get_port());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap();
        let passing = Arc::new(AtomicI64::new(-1));
        let mut relay = JoinSet::new();
        let counter = Arc::clone(&passing);
        relay.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((host, _)) = listener.accept().await {
                connections.spawn(carry(host, server.clone(), Arc::clone(&counter)));
            }
        });
        let (before, after) = store.url.split_once('@').expect("the URL names a user");
        let (_, database) = after.split_once('/').expect("the URL names a database");
        let queue = connect(&format!("{before}@{here}/{database}"), Default::default()).await.unwrap();
        Wire { queue, passing, _relay: relay }
    }

    /// Lets so many more answers pass, and cuts every connection at the next one.
    fn cut_after(&self, answers: i64) {
        self.passing.store(answers, Ordering::SeqCst);
    }

    /// Lets everything pass again; answers whether anything was cut.
    fn mend(&self) -> bool {
        self.passing.swap(-1, Ordering::SeqCst) == 0
    }
}

async fn carry(mut host: TcpStream, server: (String, u16), passing: Arc<AtomicI64>) {
    let mut server = TcpStream::connect(server).await.unwrap();
    let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let done = tokio::select! {
            read = host.read(&mut asked) => match read {
                Ok(0) | Err(_) => true,
                Ok(read) => server.write_all(&asked[..read]).await.is_err(),
            },
            read = server.read(&mut answered) => match read {
                Ok(0) | Err(_) => true,
                // The server has done what it was asked, and nobody hears of it.
                Ok(_) if passing.load(Ordering::SeqCst) == 0 => true,
                Ok(read) => {
                    let _ = passing.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| (left > 0).then_some(left - 1));
                    host.write_all(&answered[..read]).await.is_err()
                }
            },
        };
        if done {
            return;
        }
    }
}

/// Whether a verb that was cut off said so; anything but an answer or `Unavailable` is a failure.
fn unavailable<T: std::fmt::Debug>(answer: &Result<T, QueueError>) -> bool {
    match answer {
        Ok(_) => false,
        Err(QueueError::Unavailable { .. }) => true,
        Err(other) => panic!("{other:?}"),
    }
}

/// Cuts a verb off after 0, 1, 2 … answers until it comes through whole. `$verb` is called, and `$again` with the
/// answer of calling it once more after the connection is mended.
macro_rules! cut_everywhere {
    ($wire:ident, $prepare:expr, |$state:ident| $verb:expr, |$answer:ident| $again:expr) => {
        let mut cuts = 0;
        for answers in 0.. {
            let $state = $prepare;
            $wire.cut_after(answers);
            let first = $verb.await;
            let cut = $wire.mend();
            if unavailable(&first) {
                assert!(cut, "unavailable without a reason: {first:?}");
                cuts += 1;
            }
            let $answer = $verb.await.unwrap();
            $again;
            if !cut {
                break;
            }
        }
        assert!(cuts > 0, "nothing was ever cut");
    };
}

contract_on! { Postgres:
    async fn an_enqueue_that_is_cut_off_is_made_once_or_not_at_all(store) {
        let wire = Wire::new(&store).await;
        cut_everywhere!(wire, store.sql("delete from work_items").await, |_state| wire.queue.enqueue(&[keyed("a", "k")]), |answer| {
            assert_eq!(store.number("select count(*) from work_items").await, 1);
            assert_eq!(store.get(answer[0].id()).await.status, Status::Queued);
            assert!(matches!(answer[0], Enqueued::Created(_) | Enqueued::Existing(_)));
        });
    }

    async fn a_claim_that_is_cut_off_is_recovered_or_was_never_made(store) {
        let wire = Wire::new(&store).await;
        cut_everywhere!(wire, store.enqueue(new("a")).await, |_state| wire.queue.claim(&ask("h", &[("a", 1)])), |claims| {
            let mut held = claims;
            if held.is_empty() {
                // The claim was made, and its answer was lost: its lease runs out.
                let id = store.queue.list(&Default::default()).await.unwrap()[0].id;
                store.expire(id).await;
                assert_eq!(store.queue.recover_expired(3, 10).await.unwrap().len(), 1);
                held = store.queue.claim(&ask("h", &[("a", 1)])).await.unwrap();
            }
            let done = Finish::new(held[0].fence(), Outcome::Succeeded(None));
            assert_eq!(store.queue.finish(&[done]).await.unwrap(), [Recorded::Recorded]);
            assert_eq!(store.number("select count(*) from work_items where status <> 'succeeded'").await, 0);
        });
    }

    async fn a_claim_that_is_cut_off_is_answered_to_whoever_asks_for_it(store) {
        let wire = Wire::new(&store).await;
        cut_everywhere!(wire, store.enqueue(new("a")).await, |_state| wire.queue.claim(&ask("h", &[("a", 1)])), |claims| {
            // Where the claim was made and its answer was lost, there is nothing left to claim.
            let known: Vec<_> = claims.iter().map(Claim::fence).collect();
            let mut held = wire.queue.claimed("h", &known, LEASE).await.unwrap();
            held.extend(claims);
            assert_eq!((held.len(), held[0].item.attempt), (1, 1));
            let done = Finish::new(held[0].fence(), Outcome::Succeeded(None));
            assert_eq!(store.queue.finish(&[done]).await.unwrap(), [Recorded::Recorded]);
        });
    }

    async fn a_finish_that_is_cut_off_is_recorded_once(store) {
        let wire = Wire::new(&store).await;
        let finish = |claim: &Claim| {
            [Finish::new(claim.fence(), Outcome::Failed { error: "broke".to_owned() })]
        };
        cut_everywhere!(wire, store.running(new("a")).await, |claim| wire.queue.finish(&finish(&claim)), |answer| {
            assert_eq!(answer, [Recorded::Recorded]);
            assert_eq!(store.number("select count(*) from work_items where failures <> 1 or status <> 'failed'").await, 0);
        });
    }

    async fn a_heartbeat_a_cancel_and_a_recovery_that_are_cut_off_can_be_repeated(store) {
        let wire = Wire::new(&store).await;
        let beat = |claim: &Claim| [Beat { fence: claim.fence(), progress: None }];
        cut_everywhere!(wire, store.running(new("a")).await, |claim| wire.queue.heartbeat(&beat(&claim), LEASE), |answer| assert_eq!(answer, [Pulse::Alive]));
        cut_everywhere!(wire, store.enqueue(new("b")).await, |id| wire.queue.cancel(id), |answer| {
            assert!(matches!(answer, CancelAnswer::Cancelled | CancelAnswer::Finished), "{answer:?}");
            assert_eq!(store.number("select count(*) from work_items where kind = 'b' and status <> 'cancelled'").await, 0);
        });
        cut_everywhere!(wire, {
            let claim = store.running(new("c")).await;
            store.expire(claim.item.id).await;
        }, |_state| wire.queue.recover_expired(1, 10), |_answer| {
            assert_eq!(store.number("select count(*) from work_items where kind = 'c' and (status <> 'failed' or stalls <> 1)").await, 0);
        });
    }
}
