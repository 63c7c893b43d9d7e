//! A server that refuses for a while: others are in the way, it only reads, or its disk is full.

use std::sync::Arc;
use std::time::Duration;

use workhost_queue::{
    Beat, CancelAnswer, Claim, Enqueued, Finish, Outcome, Pulse, Queue, QueueError, Recorded, Status,
};

use super::verbs::{not_unavailable, nothing_but_unavailable};
use crate::store::{LEASE, TestStore, ask, contract_on, json, keyed, new};

/// A running item, a queued one, and a finished one that is old.
async fn one_of_each(store: &TestStore) -> Claim {
    let old = store.running(new("a")).await;
    store.queue.finish(&[Finish::new(old.fence(), Outcome::Succeeded(None))]).await.unwrap();
    let claim = store.running(new("a")).await;
    store.enqueue(new("a")).await;
    claim
}

async fn rows(store: &TestStore) -> String {
    serde_json::to_string(&store.queue.list(&Default::default()).await.unwrap()).unwrap()
}

/// After the trouble everything goes on, and nothing was lost or doubled.
async fn assert_whole(store: &TestStore, queue: &Arc<dyn Queue>, claim: &Claim) {
    let finish = Finish::new(claim.fence(), Outcome::Succeeded(None));
    assert_eq!(queue.finish(&[finish]).await.unwrap(), [Recorded::Recorded]);
    assert_eq!(queue.claim(&ask("h", &[("a", 1)])).await.unwrap().len(), 1);
    assert_eq!(store.number("select count(*) from work_items").await, 3);
}

contract_on! { Postgres:
    async fn a_server_that_only_reads_is_unavailable(store) {
        let claim = one_of_each(&store).await;
        let before = rows(&store).await;
        let name = store.url.rsplit('/').next().unwrap().to_owned();
        store.sql(format!("alter database {name} set default_transaction_read_only = on")).await;
        let host = store.host().await;
        assert_eq!(nothing_but_unavailable(&*host, &claim).await, [""; 0]);
        assert_eq!(host.get(claim.item.id).await.unwrap().unwrap().status, Status::Running, "it still reads");
        assert_eq!(rows(&store).await, before);
        // A connection that was opened meanwhile, by whomever, only reads: all that a failover left on a standby.
        let reads = (0..8).map(|_| host.get(claim.item.id));
        assert!(futures::future::join_all(reads).await.iter().all(Result::is_ok));
        store.sql(format!("set transaction_read_only = off; alter database {name} reset default_transaction_read_only")).await;
        // The first refusal gives up all of them, and a heartbeat's refusal the one that is reserved.
        let beat = [Beat { fence: claim.fence(), progress: None }];
        let finish = [Finish::new(claim.fence(), Outcome::Succeeded(None))];
        let _ = (host.heartbeat(&beat, LEASE).await, host.finish(&finish).await);
        assert_eq!(host.finish(&finish).await.unwrap(), [Recorded::Recorded]);
        assert_eq!(host.heartbeat(&beat, LEASE).await.unwrap(), [Pulse::Lost]);
        assert_whole(&store, &host, &claim).await;
    }

    async fn a_full_disk_is_unavailable(store) {
        let claim = one_of_each(&store).await;
        let before = rows(&store).await;
        refuse(&store, "raise exception 'could not extend file: No space left on device' using errcode = '53100';").await;
        assert_eq!(not_unavailable(&*store.queue, &claim).await, [""; 0]);
        assert_eq!(rows(&store).await, before);
        store.refuse_no_more().await;
        assert_whole(&store, &store.queue, &claim).await;
    }

    async fn a_serialization_failure_is_tried_again_inside(store) {
        // What a rollback does not undo: the sequence tells how often it was tried.
        store.sql("create sequence tries").await;
        refuse(&store, "if nextval('workhost.tries') <= 2 then raise exception 'could not serialize' using errcode = '40001'; end if;").await;
        let again = || store.sql("alter sequence tries restart");
        let id = match store.queue.enqueue(&[keyed("a", "k")]).await.unwrap()[0] {
            Enqueued::Created(id) => id,
            existing => panic!("{existing:?}"),
        };
        again().await;
        // The server may still be about to unlock what the try before had locked: then the next claim gets it.
        let claim = loop {
            if let Some(claim) = store.claim("a").await {
                break claim;
            }
        };
        assert_eq!((claim.item.id, claim.item.attempt), (id, 1));
        again().await;
        assert_eq!(store.queue.cancel(id).await.unwrap(), CancelAnswer::Requested);
        again().await;
        // A beat and a finish have a next time of their own.
        let beat = Beat { fence: claim.fence(), progress: None };
        while store.queue.heartbeat(std::slice::from_ref(&beat), LEASE).await.unwrap() == [Pulse::Busy] {}
        again().await;
        let finish = Finish::new(claim.fence(), Outcome::Succeeded(None));
        while store.queue.finish(std::slice::from_ref(&finish)).await.unwrap() == [Recorded::Busy] {}
        assert_eq!(store.number("select count(*) from work_items").await, 1);
        assert_eq!(store.get(id).await.status, Status::Cancelled);
    }

    async fn a_deadlock_is_tried_again_inside(store) {
        let mut somebody = store.pg().begin().await.unwrap();
        let insert = |key: &str| {
            sqlx::AssertSqlSafe(format!(
                "insert into work_items (kind, payload, dedup_key, run_at, created_at, updated_at)
                values ('a', '{{}}', '{key}', now(), now(), now())"
            ))
        };
        // The server ends the one that looks first, which is the queue.
        sqlx::query("set local deadlock_timeout = '20s'").execute(&mut *somebody).await.unwrap();
        sqlx::query(insert("second")).execute(&mut *somebody).await.unwrap();
        let queue = store.host().await;
        let asked = tokio::spawn(async move { queue.enqueue(&[keyed("a", "first"), keyed("a", "second")]).await });
        while store.number("select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()").await == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        sqlx::query(insert("first")).execute(&mut *somebody).await.unwrap();
        somebody.commit().await.unwrap();
        let answers = asked.await.unwrap().unwrap();
        assert!(answers.iter().all(|answer| answer.created().is_none()), "{answers:?}");
        assert_eq!(store.number("select count(*) from work_items").await, 2);
        let deadlocks = "select deadlocks from pg_stat_database where datname = current_database()";
        for _ in 0..200 {
            if store.number(deadlocks).await > 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("there was no deadlock");
    }
}

/// Runs statements before each row is written.
async fn refuse(store: &TestStore, statements: &str) {
    store
        .sql(format!(
            "create function refuse() returns trigger language plpgsql as $$ begin {statements} return new; end $$;
            create trigger refuse before insert or update on work_items for each row execute function refuse()"
        ))
        .await;
}

contract_on! { Sqlite:
    async fn a_transaction_that_the_database_ended_itself_stands_in_nobodys_way(store) {
        let claim = store.running(new("a")).await;
        // As SQLite does by itself when the disk is full, for one.
        store.sql("create trigger ends_it before update on work_items begin select raise(rollback, 'no room'); end").await;
        let beat = Beat { fence: claim.fence(), progress: Some(json("1")) };
        assert!(store.queue.heartbeat(std::slice::from_ref(&beat), LEASE).await.is_err());
        store.sql("drop trigger ends_it").await;
        assert_eq!(store.queue.heartbeat(&[beat], LEASE).await.unwrap(), [Pulse::Alive]);
        store.enqueue(new("a")).await;
    }

    async fn what_is_no_rows_fault_is_no_answer_for_a_row(store) {
        let (bad, wrong) = (store.running(new("bad")).await, store.running(new("wrong")).await);
        store.expire(bad.item.id).await;
        store.expire(wrong.item.id).await;
        store.refuse_updates_of("bad").await;
        store.sql("create table probe (id integer primary key)").await;
        // Neither a constraint nor too large: a mistake of whoever made the trigger.
        store.sql("create trigger wrong before update on work_items when new.kind = 'wrong' begin insert into probe values ('x'); end").await;
        let beats = [&bad, &wrong].map(|claim| Beat { fence: claim.fence(), progress: None });
        assert!(matches!(store.queue.heartbeat(&beats, LEASE).await, Err(QueueError::Unavailable { .. })));
        let finishes = [&bad, &wrong].map(|claim| Finish::new(claim.fence(), Outcome::Succeeded(None)));
        assert!(matches!(store.queue.finish(&finishes).await, Err(QueueError::Unavailable { .. })));
        let sweep = store.host().await.recover_expired(3, 10).await;
        assert!(matches!(sweep, Err(QueueError::Unavailable { .. })), "{sweep:?}");
    }

    async fn a_file_that_was_taken_away_is_missed_until_it_is_back(store) {
        let held = store.running(new("b")).await;
        let id = store.enqueue(new("a")).await;
        let path = store.url.strip_prefix("sqlite://").unwrap();
        let elsewhere = format!("{path}.elsewhere");
        std::fs::rename(path, &elsewhere).unwrap();
        assert!(matches!(store.queue.check().await, Err(QueueError::Unavailable { .. })));
        assert!(matches!(store.queue.claim(&ask("h", &[("a", 1)])).await, Err(QueueError::Unavailable { .. })));
        let beat = [Beat { fence: held.fence(), progress: None }];
        assert!(matches!(store.queue.heartbeat(&beat, LEASE).await, Err(QueueError::Unavailable { .. })));
        let finish = [Finish::new(held.fence(), Outcome::Succeeded(None))];
        assert!(matches!(store.queue.finish(&finish).await, Err(QueueError::Unavailable { .. })), "it would be lost");
        assert!(matches!(store.queue.recover_expired(3, 1).await, Err(QueueError::Unavailable { .. })));
        std::fs::write(path, "").unwrap();
        assert!(matches!(store.queue.check().await, Err(QueueError::Unavailable { .. })), "another of its name");
        std::fs::rename(&elsewhere, path).unwrap();
        store.queue.check().await.unwrap();
        assert_eq!(store.queue.finish(&finish).await.unwrap(), [Recorded::Recorded]);
        assert_eq!(store.queue.claim(&ask("h", &[("a", 1)])).await.unwrap()[0].fence().id, id);
    }
}
