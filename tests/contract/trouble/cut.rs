//! Connections that end in the middle of a verb, at each point of its conversation with the server.

use workhost_queue::{Beat, CancelAnswer, Claim, Enqueued, Finish, Outcome, Pulse, QueueError, Recorded, Status};

use super::wire::Wire;
use crate::store::{LEASE, ask, contract_on, keyed, new};

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
        let host = wire.host(Default::default()).await.unwrap();
        cut_everywhere!(wire, store.sql("delete from work_items").await, |_state| host.enqueue(&[keyed("a", "k")]), |answer| {
            assert_eq!(store.number("select count(*) from work_items").await, 1);
            assert_eq!(store.get(answer[0].id()).await.status, Status::Queued);
            assert!(matches!(answer[0], Enqueued::Created(_) | Enqueued::Existing(_)));
        });
    }

    async fn a_claim_that_is_cut_off_is_recovered_or_was_never_made(store) {
        let wire = Wire::new(&store).await;
        let host = wire.host(Default::default()).await.unwrap();
        cut_everywhere!(wire, store.enqueue(new("a")).await, |_state| host.claim(&ask("h", &[("a", 1)])), |claims| {
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
        let host = wire.host(Default::default()).await.unwrap();
        cut_everywhere!(wire, store.enqueue(new("a")).await, |_state| host.claim(&ask("h", &[("a", 1)])), |claims| {
            // Where the claim was made and its answer was lost, there is nothing left to claim.
            let known: Vec<_> = claims.iter().map(Claim::fence).collect();
            let mut held = host.claimed("h", &known, LEASE).await.unwrap();
            held.extend(claims);
            assert_eq!((held.len(), held[0].item.attempt), (1, 1));
            let done = Finish::new(held[0].fence(), Outcome::Succeeded(None));
            assert_eq!(store.queue.finish(&[done]).await.unwrap(), [Recorded::Recorded]);
        });
    }

    async fn a_finish_that_is_cut_off_is_recorded_once(store) {
        let wire = Wire::new(&store).await;
        let host = wire.host(Default::default()).await.unwrap();
        let finish = |claim: &Claim| {
            [Finish::new(claim.fence(), Outcome::Failed { error: "broke".to_owned() })]
        };
        cut_everywhere!(wire, store.running(new("a")).await, |claim| host.finish(&finish(&claim)), |answer| {
            assert_eq!(answer, [Recorded::Recorded]);
            assert_eq!(store.number("select count(*) from work_items where failures <> 1 or status <> 'failed'").await, 0);
        });
    }

    async fn a_heartbeat_a_cancel_and_a_recovery_that_are_cut_off_can_be_repeated(store) {
        let wire = Wire::new(&store).await;
        let host = wire.host(Default::default()).await.unwrap();
        let beat = |claim: &Claim| [Beat { fence: claim.fence(), progress: None }];
        cut_everywhere!(wire, store.running(new("a")).await, |claim| host.heartbeat(&beat(&claim), LEASE), |answer| assert_eq!(answer, [Pulse::Alive]));
        cut_everywhere!(wire, store.enqueue(new("b")).await, |id| host.cancel(id), |answer| {
            assert!(matches!(answer, CancelAnswer::Cancelled | CancelAnswer::Finished), "{answer:?}");
            assert_eq!(store.number("select count(*) from work_items where kind = 'b' and status <> 'cancelled'").await, 0);
        });
        cut_everywhere!(wire, {
            let claim = store.running(new("c")).await;
            store.expire(claim.item.id).await;
        }, |_state| host.recover_expired(1, 10), |_answer| {
            assert_eq!(store.number("select count(*) from work_items where kind = 'c' and (status <> 'failed' or stalls <> 1)").await, 0);
        });
    }
}
