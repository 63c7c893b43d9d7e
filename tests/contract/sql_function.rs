//! Enqueueing by SQL, in the application's own transaction.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use workhost_queue::{Enqueued, ItemId, Status};

use crate::store::{TestStore, contract_on, keyed};

type Answer = (i64, bool);

/// A connection of an application, which knows nothing of the queue.
async fn application(store: &TestStore) -> PgConnection {
    PgConnection::connect(&store.url).await.unwrap()
}

async fn enqueue(connection: &mut PgConnection, arguments: &str) -> sqlx::Result<Answer> {
    let call = format!("select id, created from workhost.enqueue({arguments})");
    sqlx::query_as(AssertSqlSafe(call)).fetch_one(connection).await
}

contract_on! { Postgres:
    async fn what_a_transaction_enqueues_is_there_once_it_is_committed(store) {
        let mut application = application(&store).await;
        let mut tx = application.begin().await.unwrap();
        let (id, created) = enqueue(&mut tx, "'mail', '{ \"to\": 7 }', 'k', 'scope', now() - interval '1 minute', 5").await.unwrap();
        assert!(created);
        assert!(store.queue.get(ItemId(id)).await.unwrap().is_none(), "it is not committed");
        assert!(store.claim("mail").await.is_none());
        tx.commit().await.unwrap();
        let item = store.claim("mail").await.expect("it is due").item;
        assert_eq!((item.id, item.payload.as_str(), item.priority), (ItemId(id), "{ \"to\": 7 }", 5));
        assert_eq!((item.dedup_key.as_deref(), item.scope.as_deref()), (Some("k"), Some("scope")));
        assert_eq!(item.created_at - item.run_at, time::Duration::minutes(1));
    }

    async fn what_is_rolled_back_leaves_nothing(store) {
        let mut application = application(&store).await;
        let mut tx = application.begin().await.unwrap();
        enqueue(&mut tx, "'a', '{}', 'k'").await.unwrap();
        tx.rollback().await.unwrap();
        let mut tx = application.begin().await.unwrap();
        let mut savepoint = tx.begin().await.unwrap();
        enqueue(&mut savepoint, "'a', '{}', 'k'").await.unwrap();
        savepoint.rollback().await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(store.number("select count(*) from work_items").await, 0);
        assert!(store.queue.enqueue(&[keyed("a", "k")]).await.unwrap()[0].created().is_some(), "the key is free");
    }

    async fn a_transaction_is_told_of_once_without_a_payload_and_wakes_the_hosts(store) {
        let mut listener = PgListener::connect(&store.url).await.unwrap();
        listener.listen("workhost").await.unwrap();
        tokio::time::sleep(Duration::from_millis(600)).await;
        let wake = store.queue.wake();
        while tokio::time::timeout(Duration::from_millis(300), wake.notified()).await.is_ok() {}
        let mut application = application(&store).await;
        let mut tx = application.begin().await.unwrap();
        enqueue(&mut tx, "'a', '{}', 'k'").await.unwrap();
        enqueue(&mut tx, "'a', '{}'").await.unwrap();
        sqlx::query("select workhost.enqueue_many('{a,b}', array['1', '2']::json[])").execute(&mut *tx).await.unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(300), wake.notified()).await.is_err(), "nothing is there yet");
        tx.commit().await.unwrap();
        tokio::time::timeout(Duration::from_secs(5), wake.notified()).await.expect("the host heard of it");
        assert_eq!(listener.recv().await.unwrap().payload(), "");
        enqueue(&mut application, "'a', '{}', 'k'").await.unwrap();
        let more = tokio::time::timeout(Duration::from_millis(300), listener.recv()).await;
        assert!(more.is_err(), "once for all four, and not for an item that was there already: {more:?}");
    }

    async fn many_are_answered_in_order(store) {
        let mut application = application(&store).await;
        let (there, _) = enqueue(&mut application, "'a', '{}', 'there'").await.unwrap();
        let answers: Vec<(i32, i64, bool)> = sqlx::query_as(
            "select item, id, created from workhost.enqueue_many(
                array['b', 'a', 'a', 'a'], array['1', '\"é\"', '{\"a\": 1e400,  \"a\": 2}', '4']::json[],
                dedup_keys => array['z', 'there', 'new', 'new'], priorities => array[null, 1, 2, 3])",
        )
        .fetch_all(&mut application)
        .await
        .unwrap();
        let told: Vec<_> = answers.iter().map(|&(item, _, created)| (item, created)).collect();
        assert_eq!(told, [(1, true), (2, false), (3, true), (4, false)]);
        assert_eq!((answers[1].1, answers[3].1), (there, answers[2].1));
        let kept = store.get(ItemId(answers[2].1)).await;
        assert_eq!((kept.payload.as_str(), kept.priority), ("{\"a\": 1e400,  \"a\": 2}", 2), "the first of the two");
        assert_eq!(store.get(ItemId(answers[0].1)).await.priority, 0);
    }

    async fn callers_in_sql_and_hosts_that_race_for_a_key_make_one_item(store) {
        let options: PgConnectOptions = store.url.parse().unwrap();
        let pool = PgPoolOptions::new().max_connections(64).connect_lazy_with(options);
        let barrier = Arc::new(Barrier::new(64));
        let mut racers = JoinSet::new();
        for racer in 0..64 {
            let (pool, queue, barrier) = (pool.clone(), Arc::clone(&store.queue), Arc::clone(&barrier));
            racers.spawn(async move {
                if racer % 8 == 0 {
                    barrier.wait().await;
                    let answer = queue.enqueue(&[keyed("a", "k")]).await.unwrap()[0];
                    return (answer.id().0, matches!(answer, Enqueued::Created(_)));
                }
                let mut connection = pool.acquire().await.unwrap();
                barrier.wait().await;
                let mut tx = connection.begin().await.unwrap();
                let answer = enqueue(&mut tx, "'a', '{}', 'k'").await.unwrap();
                // Every other winner gives up, and one that waited creates.
                if racer % 2 == 1 && answer.1 {
                    tx.rollback().await.unwrap();
                    return (answer.0, false);
                }
                tx.commit().await.unwrap();
                answer
            });
        }
        let answers = racers.join_all().await;
        let created: HashSet<_> = answers.iter().filter(|answer| answer.1).map(|answer| answer.0).collect();
        assert_eq!((created.len(), store.number("select count(*) from work_items").await), (1, 1));
        assert_eq!(store.get(ItemId(*created.iter().next().unwrap())).await.status, Status::Queued);
        pool.close().await;
    }

    async fn a_transaction_with_one_snapshot_that_cannot_see_the_queued_item_is_told_to_begin_again(store) {
        for level in ["repeatable read", "serializable"] {
            let mut application = application(&store).await;
            let begin = || AssertSqlSafe(format!("begin isolation level {level}"));
            let mut tx = application.begin_with(begin()).await.unwrap();
            sqlx::query("select count(*) from pg_class").execute(&mut *tx).await.unwrap();
            let queued = store.enqueue(keyed(level, "k")).await;
            let call = format!("'{level}', '{{}}', 'k'");
            let error = enqueue(&mut tx, &call).await.unwrap_err();
            assert_eq!(error.as_database_error().unwrap().code().as_deref(), Some("40001"), "{level}: {error}");
            tx.rollback().await.unwrap();

            let mut tx = application.begin_with(begin()).await.unwrap();
            assert_eq!(enqueue(&mut tx, &call).await.unwrap(), (queued.0, false), "{level}");
            let mine = format!("'{level}', '{{}}', 'mine'");
            let (id, created) = enqueue(&mut tx, &mine).await.unwrap();
            assert!(created, "{level}");
            assert_eq!(enqueue(&mut tx, &mine).await.unwrap(), (id, false), "{level}: its own is seen");
            tx.commit().await.unwrap();
        }
    }

    async fn batches_in_sql_with_keys_in_opposite_order_never_deadlock(store) {
        let barrier = Arc::new(Barrier::new(8));
        let mut racers = JoinSet::new();
        for racer in 0..8 {
            let (mut application, barrier) = (application(&store).await, Arc::clone(&barrier));
            racers.spawn(async move {
                let mut created = 0;
                for round in 0..20 {
                    let mut keys: Vec<_> = (0..50).map(|n| format!("{round} {n}")).collect();
                    if racer % 2 == 1 {
                        keys.reverse();
                    }
                    barrier.wait().await;
                    let call = "select count(*) filter (where created) from workhost.enqueue_many(
                        array_fill('a'::text, array[50]), array_fill('1'::json, array[50]), $1)";
                    created += sqlx::query_scalar::<_, i64>(call).bind(keys).fetch_one(&mut application).await.unwrap();
                }
                created
            });
        }
        assert_eq!(racers.join_all().await.iter().sum::<i64>(), 20 * 50);
    }

    async fn a_key_that_is_cancelled_at_that_moment_is_created_anew(store) {
        let mut racers = JoinSet::new();
        for _ in 0..3 {
            let mut application = application(&store).await;
            racers.spawn(async move {
                for _ in 0..300 {
                    enqueue(&mut application, "'a', '{}', 'k'").await.unwrap();
                }
            });
        }
        let cancel = "update work_items set status = 'cancelled', finished_at = now(), cancel_requested_at = now()
            where status = 'queued'";
        while !racers.is_empty() {
            store.sql(cancel).await;
            while let Some(done) = racers.try_join_next() {
                done.unwrap();
            }
        }
    }
}
