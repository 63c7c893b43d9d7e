//! Text that a store cannot hold, and limits of what an attempt reports.

use serde_json::json as value;
use workhost_queue::{
    Beat, Claim, ConnectOptions, Filter, Finish, Json, Limits, NewItem, Outcome, QueueError, Recorded, WorkItem,
};

use crate::store::{Engine, LEASE, TestStore, ask, contract, json, new};

async fn end(store: &TestStore, claim: &Claim, outcome: Outcome, progress: Option<Json>) -> WorkItem {
    let finish = Finish { progress, ..Finish::new(claim.fence(), outcome) };
    assert_eq!(store.queue.finish(&[finish]).await.unwrap(), [Recorded::Recorded]);
    store.get(claim.item.id).await
}

contract! {
    async fn a_payload_that_no_store_can_hold_is_refused_by_name(store) {
        for payload in [value!("\0"), value!({ "a\0": 1 })] {
            let refused = store.queue.enqueue(&[NewItem::new("a", payload.into())]).await;
            assert!(matches!(refused, Err(QueueError::Invalid { field: "payload", .. })), "{refused:?}");
        }
    }

    async fn what_an_attempt_reports_is_made_storable(store) {
        let claim = store.running(new("a")).await;
        let nul: Json = value!({ "a\0": "\0" }).into();
        store.queue.heartbeat(&[Beat { fence: claim.fence(), progress: Some(nul.clone()) }], LEASE).await.unwrap();
        assert_eq!(store.get(claim.item.id).await.progress.unwrap().to_value(), value!({ "a\u{fffd}": "\u{fffd}" }));
        let item = end(&store, &claim, Outcome::Succeeded(Some(nul)), None).await;
        assert_eq!(item.result.unwrap().to_value(), value!({ "a\u{fffd}": "\u{fffd}" }));

        let claim = store.running(new("a")).await;
        let item = end(&store, &claim, Outcome::Failed { error: "a\0b".to_owned() }, None).await;
        assert_eq!(item.error.as_deref(), Some("a\u{fffd}b"));
    }

    async fn what_is_too_long_never_stops_a_state_change(store) {
        let claim = store.running(new("a")).await;
        let long: Json = value!("x".repeat(2 << 20)).into();
        store.queue.heartbeat(&[Beat { fence: claim.fence(), progress: Some(json("1")) }], LEASE).await.unwrap();
        let item = end(&store, &claim, Outcome::Succeeded(Some(long.clone())), Some(long)).await;
        assert_eq!(item.progress.unwrap().as_str(), "1", "the snapshot before stays");
        let note = item.result.unwrap().to_value()["workhost"].as_str().unwrap().to_owned();
        assert!(note.contains("2097154 bytes; the limit is 1048576"), "{note}");

        let claim = store.running(new("a")).await;
        let item = end(&store, &claim, Outcome::Failed { error: "é".repeat(20_000) }, None).await;
        let error = item.error.unwrap();
        assert!(error.len() <= 16 << 10 && error.ends_with("(cut: the text has 40000 bytes)"), "{}", error.len());
    }

    async fn what_nests_too_deep_never_stops_a_state_change(store) {
        let mut deep = value!(1);
        for _ in 0..200 {
            deep = value!([deep]);
        }
        let claim = store.running(new("a")).await;
        let item = end(&store, &claim, Outcome::Succeeded(Some(deep.clone().into())), Some(deep.clone().into())).await;
        assert!(item.result.unwrap().as_str().contains("levels of nesting"));
        assert_eq!(item.progress, None);
        assert!(store.queue.enqueue(&[NewItem::new("a", deep.into())]).await.is_err());
    }

    async fn a_time_that_hosts_cannot_read_is_refused_whoever_writes_it(store) {
        let id = store.enqueue(new("a")).await;
        let (year_10000, before_year_1) = match store.engine {
            Engine::Postgres => ("'10000-01-01Z'", "'0001-12-31Z BC'"),
            Engine::Sqlite => ("253402300800000", "-62135596800001"),
        };
        for time in [year_10000, before_year_1] {
            for column in ["run_at", "created_at", "updated_at", "started_at"] {
                let written = store.try_sql(format!("update work_items set {column} = {time} where id = {id}")).await;
                let refused = written.expect_err(column).to_string();
                assert!(refused.contains("work_items_times_check"), "{column}: {refused}");
            }
        }
        assert_eq!(store.queue.list(&Filter::default()).await.unwrap().len(), 1);
    }

    async fn limits_are_those_of_the_options(store) {
        let limits = Limits { payload_bytes: Some(5), batch_items: 2, ..Limits::default() };
        let host = store.host_with(ConnectOptions { limits, ..ConnectOptions::default() }).await;
        let refused = host.enqueue(&[NewItem::new("a", json("[1, 2]"))]).await.unwrap_err();
        assert_eq!(refused.to_string(), "payload: 6 bytes; the limit is 5");
        let refused = host.enqueue(&[new("a"), new("a"), new("a")]).await.unwrap_err();
        assert_eq!(refused.to_string(), "items: 3 at once; the limit is 2");
        assert_eq!(host.enqueue(&[new("a")]).await.unwrap().len(), 1);
        let refused = host.claim(&ask("", &[("a", 1)])).await;
        assert!(matches!(refused, Err(QueueError::Invalid { field: "host", .. })), "{refused:?}");
    }
}
