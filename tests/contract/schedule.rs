//! Periodic kinds.

use std::time::Duration;

use workhost_queue::{Finish, ItemId, Outcome, Periodic, Schedule, Status};

use crate::due_race::Racers;
use crate::store::{TestStore, contract, json, keyed, new};

const HOUR: Duration = Duration::from_secs(3600);

fn hourly(kind: &str) -> Periodic {
    Periodic { kind: kind.to_owned(), scope: None, payload: json("{\"days\": 30}"), schedule: Schedule::Every(HOUR) }
}

/// Enqueues what is due and answers the one item, if there is one.
async fn due(store: &TestStore, periodic: &Periodic) -> Option<ItemId> {
    let ids = store.queue.enqueue_due(std::slice::from_ref(periodic)).await.unwrap();
    assert!(ids.len() <= 1);
    ids.first().copied()
}

async fn run(store: &TestStore, outcome: Outcome) -> ItemId {
    let claim = store.claim("a").await.unwrap();
    store.queue.finish(&[Finish::new(claim.fence(), outcome)]).await.unwrap();
    claim.item.id
}

contract! {
    async fn a_schedule_whose_item_no_store_takes_harms_no_other(store) {
        let flawed = Periodic { payload: serde_json::json!("\0").into(), ..hourly("flawed") };
        let unnamed = Periodic { scope: Some(String::new()), ..hourly("unnamed") };
        let ids = store.queue.enqueue_due(&[flawed, hourly("a"), unnamed, hourly("b")]).await.unwrap();
        assert_eq!(ids.len(), 2);
        assert_eq!((store.get(ids[0]).await.kind, store.get(ids[1]).await.kind), ("a".to_owned(), "b".to_owned()));
    }

    async fn with_no_history_it_is_due_at_once_and_once(store) {
        let id = due(&store, &hourly("a")).await.expect("due at once");
        let item = store.get(id).await;
        assert_eq!((item.kind.as_str(), item.dedup_key.as_deref(), item.payload.as_str()), ("a", Some("a"), "{\"days\": 30}"));
        assert_eq!(due(&store, &hourly("a")).await, None, "queued");
        store.claim("a").await.unwrap();
        assert_eq!(due(&store, &hourly("a")).await, None, "running");
    }

    async fn it_is_due_exactly_one_interval_after_it_finished_however_it_finished(store) {
        let outcomes = [
            Outcome::Succeeded(None),
            Outcome::Failed { error: "broke".to_owned() },
            Outcome::Cancelled(None),
        ];
        for outcome in outcomes {
            due(&store, &hourly("a")).await.expect("due");
            let id = run(&store, outcome.clone()).await;
            assert_eq!(due(&store, &hourly("a")).await, None, "{outcome:?}");
            store.age(id, "finished_at", HOUR - Duration::from_secs(20)).await;
            assert_eq!(due(&store, &hourly("a")).await, None, "{outcome:?}: too early");
            store.age(id, "finished_at", Duration::from_secs(20)).await;
        }
        assert!(due(&store, &hourly("a")).await.is_some());
    }

    async fn a_run_that_was_cancelled_while_queued_counts(store) {
        let id = due(&store, &hourly("a")).await.unwrap();
        store.queue.cancel(id).await.unwrap();
        assert_eq!(due(&store, &hourly("a")).await, None, "the scheduler would undo the cancel");
        store.age(id, "finished_at", HOUR).await;
        assert!(due(&store, &hourly("a")).await.is_some());
    }

    async fn a_retry_that_waits_is_not_doubled(store) {
        due(&store, &hourly("a")).await.unwrap();
        run(&store, Outcome::Retry { error: "later".to_owned(), delay: 48 * HOUR }).await;
        assert_eq!(due(&store, &hourly("a")).await, None);
    }

    async fn after_downtime_it_runs_once(store) {
        let id = due(&store, &hourly("a")).await.unwrap();
        run(&store, Outcome::Succeeded(None)).await;
        store.age(id, "finished_at", 50 * HOUR).await;
        assert!(due(&store, &hourly("a")).await.is_some());
        run(&store, Outcome::Succeeded(None)).await;
        assert_eq!(due(&store, &hourly("a")).await, None);
    }

    async fn each_scope_is_a_schedule_of_its_own(store) {
        let of = |scope: &str| Periodic { scope: Some(scope.to_owned()), ..hourly("a") };
        let ids = store.queue.enqueue_due(&[of("x"), of("y"), hourly("a"), hourly("b")]).await.unwrap();
        assert_eq!(ids.len(), 4);
        let item = store.get(ids[0]).await;
        assert_eq!((item.scope.as_deref(), item.dedup_key.as_deref()), (Some("x"), Some("a/x")));
        assert_eq!(store.queue.enqueue_due(&[of("x"), of("y"), of("z")]).await.unwrap().len(), 1);
        assert_eq!(store.queue.enqueue_due(&[]).await.unwrap(), []);
    }

    async fn items_of_the_kind_without_the_key_do_not_count(store) {
        store.enqueue(new("a")).await;
        store.enqueue(keyed("a", "other")).await;
        store.enqueue(keyed("b", "a")).await;
        assert!(due(&store, &hourly("a")).await.is_some());
    }

    async fn racing_hosts_make_exactly_one_item_per_interval(store) {
        let hosts = Racers::new(&store).await;
        for round in 1..=12 {
            assert_eq!(hosts.run(&store, &hourly("a")).await, 1, "interval {round}");
            assert_eq!(store.number("select count(*) from work_items").await, round);
            for item in store.queue.list(&Default::default()).await.unwrap() {
                assert_eq!(item.status, Status::Succeeded);
                store.age(item.id, "finished_at", HOUR).await;
            }
        }
    }
}
