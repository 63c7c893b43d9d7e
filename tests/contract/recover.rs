//! Lease recovery.

use std::time::Duration;

use workhost_queue::{Beat, Finish, LastChances, NewItem, Outcome, Recorded, Recovered, Status};

use crate::store::{LEASE, TestStore, ask, contract, contract_on, ids, json, new};

/// Lets items run out of their lease, claimed by a host that is gone.
async fn abandoned(store: &TestStore, kinds: &[&str]) -> Vec<workhost_queue::ItemId> {
    let mut ids = Vec::new();
    for kind in kinds {
        let claim = store.running(new(kind)).await;
        store.expire(claim.item.id).await;
        ids.push(claim.item.id);
    }
    ids
}

contract! {
    async fn items_that_one_more_stall_fails_are_claimed_a_few_at_a_time_and_hold_up_no_other(store) {
        let old = abandoned(&store, &["a"; 5]).await;
        for id in &old {
            store.expire(*id).await;
        }
        let next = store.host().await;
        assert_eq!(next.recover_expired(3, 100).await.unwrap().len(), 5);
        let fresh = [store.enqueue(new("a")).await, store.enqueue(NewItem { scope: Some("s".to_owned()), ..new("a") }).await];
        let ask = |limit, most| workhost_queue::ClaimRequest {
            limit,
            last_chances: LastChances { stalls: 1, limit: most },
            ..ask("h", &[("a", 9)])
        };
        let mut claimed = ids(&next.claim(&ask(1, 0)).await.unwrap());
        assert_eq!(claimed, fresh[..1], "others are claimed in their place");
        claimed = ids(&next.claim(&ask(9, 0)).await.unwrap());
        assert_eq!(claimed, fresh[1..]);
        assert_eq!(ids(&next.claim(&ask(9, 1)).await.unwrap()), old[..1]);
        assert_eq!(ids(&next.claim(&ask(9, 2)).await.unwrap()), old[1..3]);
        let stalled_less_often = LastChances { stalls: 2, limit: 0 };
        let all = workhost_queue::ClaimRequest { last_chances: stalled_less_often, ..ask(9, 0) };
        assert_eq!(ids(&next.claim(&all).await.unwrap()), old[3..]);
    }

    async fn a_lease_that_ran_out_is_a_stall_and_progress_is_kept(store) {
        let claim = store.running(new("a")).await;
        let id = claim.item.id;
        store.queue.heartbeat(&[Beat { fence: claim.fence(), progress: Some(json("7")) }], LEASE).await.unwrap();
        store.expire(id).await;
        let next = store.host().await;
        let recovered = next.recover_expired(3, 100).await.unwrap();
        assert_eq!(recovered, [Recovered { id, status: Status::Queued, stalls: 1 }]);
        let item = store.get(id).await;
        assert_eq!((item.status, item.attempt, item.failures, item.interruptions), (Status::Queued, 1, 0, 0));
        assert_eq!((item.lease_expires_at, item.error, item.run_at), (None, None, claim.item.run_at));
        let again = next.claim(&ask("b", &[("a", 1)])).await.unwrap().pop().unwrap();
        assert_eq!((again.item.attempt, again.item.progress.unwrap().as_str()), (2, "7"));
    }

    async fn a_lease_that_runs_is_left_alone(store) {
        store.running(new("a")).await;
        assert_eq!(store.host().await.recover_expired(1, 100).await.unwrap(), []);
    }

    async fn the_last_stall_fails_the_item_as_stalled(store) {
        let id = store.enqueue(new("a")).await;
        for stalls in 1..=3 {
            let host = store.host().await;
            host.claim(&ask("h", &[("a", 1)])).await.unwrap().pop().unwrap();
            store.expire(id).await;
            let status = if stalls < 3 { Status::Queued } else { Status::Failed };
            let recovered = store.host().await.recover_expired(3, 100).await.unwrap();
            assert_eq!(recovered, [Recovered { id, status, stalls }]);
        }
        let item = store.get(id).await;
        assert_eq!((item.status, item.attempt, item.stalls, item.failures), (Status::Failed, 3, 3, 0));
        assert_eq!(item.reason.as_deref(), Some("stalled"));
        assert!(item.error.unwrap().contains("attempt 3 stalled"));
        assert!(item.finished_at.is_some());
    }

    async fn a_requested_cancel_ends_it_cancelled_without_an_error_even_at_the_limit(store) {
        let ids = abandoned(&store, &["a"]).await;
        store.queue.cancel(ids[0]).await.unwrap();
        let recovered = store.host().await.recover_expired(1, 100).await.unwrap();
        assert_eq!(recovered, [Recovered { id: ids[0], status: Status::Cancelled, stalls: 1 }]);
        let item = store.get(ids[0]).await;
        assert_eq!((item.status, item.error, item.reason), (Status::Cancelled, None, None));
    }

    async fn a_sweep_is_bounded_and_starts_with_the_oldest(store) {
        let ids = abandoned(&store, &["a", "a", "a"]).await;
        store.expire(ids[2]).await;
        let next = store.host().await;
        let first: Vec<_> = next.recover_expired(3, 2).await.unwrap().iter().map(|r| r.id).collect();
        assert_eq!(first.len(), 2);
        assert!(first.contains(&ids[2]));
        assert_eq!(next.recover_expired(3, 2).await.unwrap().len(), 1);
        assert_eq!(next.recover_expired(3, 2).await.unwrap(), []);
    }

    async fn rows_that_cannot_be_moved_keep_no_other_from_moving(store) {
        let ids = abandoned(&store, &["bad", "bad", "bad", "a", "a"]).await;
        store.refuse_updates_of("bad").await;
        let recovered = store.host().await.recover_expired(3, 2).await.unwrap();
        assert_eq!(recovered.iter().map(|r| r.id).collect::<Vec<_>>(), ids[3..]);
    }

    async fn a_sweep_looks_behind_ten_times_as_many_rows_as_it_may_move(store) {
        let ids = abandoned(&store, &[&["bad"; 18][..], &["a", "a"]].concat()).await;
        store.refuse_updates_of("bad").await;
        let recovered = store.host().await.recover_expired(3, 2).await.unwrap();
        assert_eq!(recovered.iter().map(|r| r.id).collect::<Vec<_>>(), ids[18..]);
    }
}

contract_on! { Postgres:
    async fn a_locked_row_is_left_for_the_next_sweep(store) {
        let ids = abandoned(&store, &["a", "a"]).await;
        let mut somebody = store.pg().begin().await.unwrap();
        sqlx::query("select from work_items where id = $1 for update").bind(ids[0].0).execute(&mut *somebody).await.unwrap();
        let next = store.host().await;
        let recovered = next.recover_expired(3, 1).await.unwrap();
        assert_eq!(recovered.iter().map(|r| r.id).collect::<Vec<_>>(), ids[1..]);
        somebody.rollback().await.unwrap();
        assert_eq!(next.recover_expired(3, 1).await.unwrap().len(), 1);
    }
}

contract_on! { Sqlite:
    async fn the_owner_of_a_file_never_recovers_its_own_live_attempts(store) {
        // As if the wall clock had jumped an hour ahead.
        let ids = abandoned(&store, &["a"]).await;
        assert_eq!(store.queue.recover_expired(3, 100).await.unwrap(), []);
        let claim_of_other = store.host().await;
        let id = store.enqueue(new("b")).await;
        claim_of_other.claim(&ask("gone", &[("b", 1)])).await.unwrap();
        store.expire(id).await;
        let recovered = store.queue.recover_expired(3, 100).await.unwrap();
        assert_eq!(recovered.iter().map(|r| r.id).collect::<Vec<_>>(), [id], "what a dead process left is recovered");
        assert_eq!(store.get(ids[0]).await.status, Status::Running);
    }

    async fn its_own_live_attempts_keep_no_other_from_being_recovered(store) {
        abandoned(&store, &["a"; 6]).await;
        let id = store.enqueue(new("b")).await;
        store.host().await.claim(&ask("gone", &[("b", 1)])).await.unwrap();
        store.age(id, "lease_expires_at", LEASE * 2).await;
        let recovered = store.queue.recover_expired(3, 1).await.unwrap();
        assert_eq!(recovered.iter().map(|r| r.id).collect::<Vec<_>>(), [id]);
    }

    async fn an_attempt_whose_finish_was_not_recorded_is_still_alive(store) {
        let claim = store.running(new("bad")).await;
        store.refuse_updates_of("bad").await;
        let finish = [Finish::new(claim.fence(), Outcome::Succeeded(None))];
        assert_eq!(store.queue.finish(&finish).await.unwrap(), [Recorded::Busy]);
        store.refuse_no_more().await;
        store.expire(claim.item.id).await;
        assert_eq!(store.queue.recover_expired(3, 100).await.unwrap(), []);
        assert_eq!(store.queue.finish(&finish).await.unwrap(), [Recorded::Recorded]);
    }

    async fn an_attempt_that_stopped_beating_is_recovered_by_its_own_process_too(store) {
        store.enqueue(new("a")).await;
        let short = workhost_queue::ClaimRequest { lease: Duration::from_millis(50), ..ask("h", &[("a", 1)]) };
        assert_eq!(store.queue.claim(&short).await.unwrap().len(), 1);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(store.queue.recover_expired(3, 100).await.unwrap().len(), 1);
    }
}
