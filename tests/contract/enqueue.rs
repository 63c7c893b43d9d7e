//! The one way in, and dedup keys.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Barrier;
use tokio::task::JoinSet;
use workhost_queue::{Enqueued, Finish, NewItem, Outcome, QueueError, Status};

use crate::store::{ask, contract, contract_on, created, ids, json, keyed, new};

contract! {
    async fn a_large_batch_answers_each_in_order(store) {
        let item = |n: usize| NewItem {
            dedup_key: n.is_multiple_of(3).then(|| format!("key {}", n % 7)),
            ..NewItem::new("a", json(&format!(r#"{{"n":{n},"text":"\u00e9 {} \"q\""}}"#, '\u{1F980}')))
        };
        let items: Vec<NewItem> = (0..1201).map(item).collect();
        let answers = store.queue.enqueue(&items).await.unwrap();
        let mut first = std::collections::HashMap::new();
        let mut ids = std::collections::BTreeSet::new();
        for (item, answer) in items.iter().zip(&answers) {
            let known = item.dedup_key.clone().and_then(|key| first.get(&key).copied());
            match known {
                Some(id) => assert_eq!(*answer, Enqueued::Existing(id)),
                None => {
                    let id = answer.created().expect("its key is new");
                    item.dedup_key.clone().map(|key| first.insert(key, id));
                    assert!(ids.last().is_none_or(|last| *last < id), "later items have larger numbers");
                    ids.insert(id);
                    assert_eq!(store.get(id).await.payload.as_str(), item.payload.as_str());
                }
            }
        }
        assert_eq!(store.number("select count(*) from work_items").await, i64::try_from(ids.len()).unwrap());
    }

    async fn an_item_is_stored_as_it_was_enqueued(store) {
        let item = NewItem {
            kind: "crawl".to_owned(),
            payload: json("{ \"b\": 1e400, \"a\": \"é\", \"a\": null }"),
            dedup_key: Some("key".to_owned()),
            scope: Some("scope".to_owned()),
            delay: Duration::from_secs(60),
            priority: -7,
        };
        let id = store.enqueue(item.clone()).await;
        let stored = store.get(id).await;
        assert_eq!(stored.payload, item.payload);
        assert_eq!((stored.kind, stored.dedup_key, stored.scope), (item.kind, item.dedup_key, item.scope));
        assert_eq!((stored.priority, stored.status, stored.attempt), (-7, Status::Queued, 0));
        assert_eq!(stored.run_at - stored.created_at, time::Duration::minutes(1));
        assert_eq!(stored.updated_at, stored.created_at);
        assert_eq!((stored.host, stored.lease_expires_at, stored.started_at, stored.finished_at), (None, None, None, None));
    }

    async fn a_batch_is_answered_in_order_and_runs_in_order(store) {
        let batch = [new("b"), keyed("a", "z"), new("a"), keyed("a", "y"), keyed("a", "z"), keyed("b", "z")];
        let answers = store.queue.enqueue(&batch).await.unwrap();
        let found: Vec<bool> = answers.iter().map(|answer| answer.created().is_some()).collect();
        assert_eq!(found, [true, true, true, true, false, true]);
        assert_eq!(answers[4], Enqueued::Existing(answers[1].id()));
        for (answer, item) in answers.iter().zip(&batch) {
            let stored = store.get(answer.id()).await;
            assert_eq!((stored.kind, stored.dedup_key), (item.kind.clone(), item.dedup_key.clone()));
        }
        let claims = store.queue.claim(&ask("h", &[("a", 9), ("b", 9)])).await.unwrap();
        let in_order: Vec<_> = answers.iter().filter_map(|answer| answer.created()).collect();
        assert_eq!(ids(&claims), in_order);
    }

    async fn a_batch_is_all_or_none(store) {
        let nul = serde_json::json!("\0").into();
        let refused = store.queue.enqueue(&[new("a"), NewItem::new("a", nul)]).await;
        assert!(matches!(refused, Err(QueueError::Invalid { field: "payload", .. })), "{refused:?}");
        assert_eq!(store.number("select count(*) from work_items").await, 0);
        assert_eq!(store.queue.enqueue(&[]).await.unwrap(), []);
    }

    async fn a_key_coalesces_while_it_is_queued(store) {
        let id = store.enqueue(keyed("a", "k")).await;
        let again = NewItem { payload: json("[1]"), priority: 9, ..keyed("a", "k") };
        assert_eq!(store.queue.enqueue(&[again]).await.unwrap(), [Enqueued::Existing(id)]);
        let kept = store.get(id).await;
        assert_eq!((kept.payload.as_str(), kept.priority), ("{}", 0));

        let claim = store.claim("a").await.unwrap();
        let second = store.queue.enqueue(&[keyed("a", "k")]).await.unwrap()[0];
        assert!(second.created().is_some(), "a running item does not coalesce");
        let done = Finish::new(claim.fence(), Outcome::Succeeded(None));
        store.queue.finish(&[done]).await.unwrap();
        assert_eq!(store.queue.enqueue(&[keyed("a", "k")]).await.unwrap(), [Enqueued::Existing(second.id())]);
    }

    async fn odd_keys_are_compared_byte_by_byte(store) {
        let long = "k".repeat(1024);
        let keys = ["😀", "é", "e\u{301}", "'\"", "%", "_", "\\", "a", "a ", " a", "A", "\n", "\u{feff}", "ß", &long];
        for round in 0..2 {
            for key in keys {
                let answer = store.queue.enqueue(&[keyed("a", key)]).await.unwrap()[0];
                assert_eq!(answer.created().is_some(), round == 0, "{key:?}");
            }
        }
        let distinct: HashSet<_> = keys.iter().collect();
        assert_eq!(store.number("select count(*) from work_items").await, distinct.len() as i64);
    }

    async fn what_is_too_long_or_empty_is_refused_by_name(store) {
        let cases = [
            ("kind", new("")),
            ("kind", new(&"k".repeat(129))),
            ("kind", new("a\nb")),
            ("kind", new("a\0")),
            ("scope", NewItem { scope: Some(String::new()), ..new("a") }),
            ("scope", NewItem { scope: Some("s".repeat(513)), ..new("a") }),
            ("dedup_key", keyed("a", "")),
            ("dedup_key", keyed("a", &"k".repeat(1025))),
            ("dedup_key", keyed("a", "\0")),
            ("payload", NewItem { payload: json(&format!("\"{}\"", "x".repeat(1 << 20))), ..new("a") }),
            ("delay", NewItem { delay: Duration::MAX, ..new("a") }),
        ];
        for (expected, item) in cases {
            match store.queue.enqueue(&[item]).await {
                Err(QueueError::Invalid { field, reason }) => assert_eq!(field, expected, "{reason}"),
                other => panic!("{expected}: {other:?}"),
            }
        }
        assert_eq!(store.number("select count(*) from work_items").await, 0);
    }

    async fn racing_enqueues_of_a_key_make_one_item(store) {
        let barrier = Arc::new(Barrier::new(64));
        let hosts = [store.host().await, store.host().await, store.host().await, store.host().await];
        let mut racers = JoinSet::new();
        for racer in 0..64 {
            let (queue, barrier) = (Arc::clone(&hosts[racer % hosts.len()]), Arc::clone(&barrier));
            racers.spawn(async move {
                barrier.wait().await;
                queue.enqueue(&[keyed("a", "k")]).await
            });
        }
        let answers = racers.join_all().await;
        assert_eq!(answers.iter().map(created).sum::<usize>(), 1);
        let distinct: HashSet<_> = answers.iter().map(|answer| answer.as_ref().unwrap()[0].id()).collect();
        assert_eq!(distinct.len(), 1);
        assert_eq!(store.number("select count(*) from work_items").await, 1);
    }

    async fn racing_batches_with_keys_in_opposite_order_all_succeed(store) {
        let barrier = Arc::new(Barrier::new(8));
        let mut racers = JoinSet::new();
        for racer in 0..8 {
            let (queue, barrier) = (store.host().await, Arc::clone(&barrier));
            let mut batch: Vec<_> = (0..50).map(|n| keyed("a", &format!("key {n}"))).collect();
            if racer % 2 == 1 {
                batch.reverse();
            }
            racers.spawn(async move {
                barrier.wait().await;
                queue.enqueue(&batch).await
            });
        }
        let answers = racers.join_all().await;
        assert_eq!(answers.iter().map(created).sum::<usize>(), 50);
        assert_eq!(store.number("select count(*) from work_items").await, 50);
    }
}

contract_on! { Postgres:
    async fn when_the_winner_of_a_key_rolls_back_the_one_that_waited_creates(store) {
        let mut winner = store.pg().begin().await.unwrap();
        sqlx::query("select enqueue('a', '{}', 'k')").execute(&mut *winner).await.unwrap();
        let queue = store.host().await;
        let waiting = tokio::spawn(async move { queue.enqueue(&[keyed("a", "k")]).await });
        let blocked = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%enqueue_many%' and datname = current_database()";
        while store.number(blocked).await == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // Longer than a statement of a heartbeat would wait: an enqueue is patient.
        tokio::time::sleep(Duration::from_millis(800)).await;
        winner.rollback().await.unwrap();
        let answer = waiting.await.unwrap().unwrap()[0];
        assert!(answer.created().is_some());
        assert_eq!(store.number("select count(*) from work_items").await, 1);
    }
}
