//! What is kept of attempts that did not succeed.

use std::time::Duration;

use workhost_queue::{AttemptRecord, Claim, Finish, ItemId, KEPT_ATTEMPTS, Outcome, Recorded};

use crate::store::{TestStore, ask, contract, new};

async fn end(store: &TestStore, claim: &Claim, outcome: Outcome) -> Recorded {
    let finish = Finish::new(claim.fence(), outcome);
    store.queue.finish(&[finish]).await.unwrap()[0]
}

async fn of(store: &TestStore, id: ItemId) -> Vec<AttemptRecord> {
    store.queue.attempts(id).await.unwrap()
}

fn words(records: &[AttemptRecord]) -> Vec<(u32, &str, Option<&str>)> {
    records.iter().map(|record| (record.attempt, record.outcome.as_str(), record.error.as_deref())).collect()
}

fn retry(error: &str) -> Outcome {
    Outcome::Retry { error: error.to_owned(), delay: Duration::ZERO }
}

contract! {
    async fn each_attempt_that_did_not_succeed_leaves_one_record(store) {
        let first = store.running(new("a")).await;
        let id = first.item.id;
        end(&store, &first, retry("broke")).await;
        let second = store.claim("a").await.unwrap();
        end(&store, &second, Outcome::Released).await;
        let third = store.claim("a").await.unwrap();
        store.expire(id).await;
        let other = store.host().await;
        assert_eq!(other.recover_expired(3, 10).await.unwrap().len(), 1);
        assert_eq!(end(&store, &third, retry("zombie")).await, Recorded::Lost);
        let fourth = other.claim(&ask("b", &[("a", 1)])).await.unwrap().pop().unwrap();
        end(&store, &fourth, Outcome::Failed { error: "for good".to_owned() }).await;
        let records = of(&store, id).await;
        assert_eq!(words(&records), [
            (4, "failed", Some("for good")),
            (3, "stalled", None),
            (2, "released", None),
            (1, "retry", Some("broke")),
        ]);
        assert_eq!((records[0].host.as_str(), records[1].host.as_str()), ("b", "a"));
        assert_eq!(records[0].handler_digest.as_deref(), Some("sha256:a"));
        assert_eq!(records[3].started_at, first.item.started_at.unwrap());
        assert_eq!(Some(records[0].ended_at), store.get(id).await.finished_at);
    }

    async fn the_end_of_its_log_stays_with_each_attempt(store) {
        let first = store.running(new("a")).await;
        let id = first.item.id;
        let finish = |claim: &Claim, outcome, log: &str| Finish {
            log_tail: Some(log.to_owned()),
            ..Finish::new(claim.fence(), outcome)
        };
        store.queue.finish(&[finish(&first, retry("broke"), "one\ntwo\0")]).await.unwrap();
        assert_eq!(store.get(id).await.log_tail.as_deref(), Some("one\ntwo\u{fffd}"));
        let second = store.claim("a").await.unwrap();
        assert_eq!(second.item.log_tail, None, "it has logged nothing yet");
        store.expire(id).await;
        store.host().await.recover_expired(3, 10).await.unwrap();
        let third = store.claim("a").await.unwrap();
        store.queue.finish(&[finish(&third, Outcome::Succeeded(None), &"line\n".repeat(10_000))]).await.unwrap();
        let tail = store.get(id).await.log_tail.unwrap();
        assert!(tail.starts_with("(cut: the last of 50000 bytes) …") && tail.ends_with("line\n"), "{tail}");
        let logs: Vec<_> = of(&store, id).await.into_iter().map(|record| (record.attempt, record.log_tail)).collect();
        assert_eq!(logs, [(2, None), (1, Some("one\ntwo\u{fffd}".to_owned()))]);
    }

    async fn an_attempt_that_succeeded_or_runs_leaves_none(store) {
        let claim = store.running(new("a")).await;
        assert_eq!(of(&store, claim.item.id).await, []);
        end(&store, &claim, Outcome::Succeeded(None)).await;
        assert_eq!(of(&store, claim.item.id).await, []);
        assert_eq!(of(&store, ItemId(999)).await, []);
    }

    async fn a_success_whose_cancel_was_requested_is_a_cancelled_attempt(store) {
        let claim = store.running(new("a")).await;
        store.queue.cancel(claim.item.id).await.unwrap();
        end(&store, &claim, Outcome::Succeeded(None)).await;
        assert_eq!(words(&of(&store, claim.item.id).await), [(1, "cancelled", None)]);
    }

    async fn a_retry_of_an_item_whose_cancel_was_requested_is_a_failed_attempt(store) {
        let claim = store.running(new("a")).await;
        store.queue.cancel(claim.item.id).await.unwrap();
        let error = "no".to_owned();
        end(&store, &claim, Outcome::Retry { error, delay: std::time::Duration::ZERO }).await;
        assert_eq!(words(&of(&store, claim.item.id).await), [(1, "failed", Some("no"))]);
    }

    async fn a_finish_that_is_repeated_leaves_one_record(store) {
        let claim = store.running(new("a")).await;
        for _ in 0..2 {
            assert_eq!(end(&store, &claim, Outcome::Released).await, Recorded::Recorded);
        }
        assert_eq!(of(&store, claim.item.id).await.len(), 1);
    }

    async fn only_the_newest_are_kept(store) {
        let id = store.enqueue(new("a")).await;
        for _ in 0..KEPT_ATTEMPTS + 3 {
            let claim = store.claim("a").await.unwrap();
            end(&store, &claim, Outcome::Released).await;
        }
        let records = of(&store, id).await;
        assert_eq!(records.len(), KEPT_ATTEMPTS as usize);
        assert_eq!((records[0].attempt, records.last().unwrap().attempt), (KEPT_ATTEMPTS + 3, 4));
    }

    async fn they_go_with_their_item_and_no_other(store) {
        let failed = || Outcome::Failed { error: "x".to_owned() };
        let (one, two) = (store.running(new("a")).await, store.running(new("a")).await);
        end(&store, &one, failed()).await;
        end(&store, &two, failed()).await;
        store.age(one.item.id, "finished_at", Duration::from_secs(9)).await;
        let deleted = store.queue.delete_finished(None, Duration::from_secs(5), 10).await.unwrap();
        assert_eq!(deleted, Some(1));
        assert_eq!((of(&store, one.item.id).await.len(), of(&store, two.item.id).await.len()), (0, 1));
        assert_eq!(store.number("select count(*) from attempts").await, 1);
    }

    async fn an_end_that_the_store_refuses_leaves_no_record(store) {
        let claim = store.running(new("a")).await;
        store.refuse_updates_of("a").await;
        assert_eq!(end(&store, &claim, Outcome::Released).await, Recorded::Busy);
        assert_eq!(of(&store, claim.item.id).await, []);
        store.refuse_no_more().await;
        assert_eq!(end(&store, &claim, Outcome::Released).await, Recorded::Recorded);
        assert_eq!(of(&store, claim.item.id).await.len(), 1);
    }
}
