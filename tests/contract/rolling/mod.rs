//! Hosts of this build beside a newer one, and after a rollback: on a schema that a later migration added to.

mod load;
mod newer;

use workhost_queue::{Beat, Finish, Outcome, Pulse, Recorded, Status};

use crate::store::{LEASE, contract, new};
use load::Load;

contract! {
    async fn hosts_work_on_under_load_while_a_newer_one_migrates_and_works_beside_them(store) {
        let mut load = Load::start(&store, &[store.host().await, store.host().await]).await;
        load.rounds(20).await;
        // A host of this build starts just now, too.
        let starting = store.host().await;
        let ((), started) = tokio::join!(newer::migrate(&store), starting.migrate());
        let started = started.unwrap();
        assert!(started.applied.is_empty() && [1, 2].contains(&started.version), "{started:?}");
        for _ in 0..20 {
            newer::work(&store).await;
            load.rounds(1).await;
        }
        load.stop().await.assert_whole(&store).await;
        newer::assert_its_work_is_there(&store).await;
    }

    async fn after_a_rollback_hosts_work_on_with_the_newer_schema(store) {
        newer::migrate(&store).await;
        let mut load = Load::start(&store, &[store.host().await]).await;
        load.rounds(5).await;
        newer::work(&store).await;
        let mut all = load.stop().await;
        let rolled_back = [store.host().await, store.host().await];
        for host in &rolled_back {
            let migrated = host.migrate().await.unwrap();
            assert_eq!((migrated.applied.len(), migrated.version), (0, 2));
            host.check().await.unwrap();
        }
        let mut load = Load::start(&store, &rolled_back).await;
        load.rounds(20).await;
        all.add(load.stop().await);
        all.assert_whole(&store).await;
        newer::assert_its_work_is_there(&store).await;
    }

    async fn an_older_host_leaves_a_newer_ones_cancel_request_recorded_until_the_item_ends(store) {
        newer::migrate(&store).await;
        // It gets its label from the new trigger alone.
        store.enqueue(new("b")).await;
        let host = store.host().await;
        let ends: [(&str, Option<Outcome>); 5] = [
            ("its handler stopped", Some(Outcome::Cancelled(None))),
            ("its handler was done before it heard", Some(Outcome::Succeeded(None))),
            ("its host went down", Some(Outcome::Released)),
            ("its lease ran out", None),
            ("its lease ran out for the last time", None),
        ];
        for (how, outcome) in ends {
            let claim = store.running(new("a")).await;
            let id = claim.item.id;
            newer::request_cancel(&store, id).await;
            let requested = store.get(id).await.cancel_requested_at;
            assert!(requested.is_some());
            let beat = Beat { fence: claim.fence(), progress: None };
            for _ in 0..2 {
                assert_eq!(host.heartbeat(std::slice::from_ref(&beat), LEASE).await.unwrap(), [Pulse::CancelRequested], "{how}");
                assert_eq!(store.get(id).await.cancel_requested_at, requested, "{how}");
            }
            match outcome {
                Some(outcome) => {
                    let finish = Finish::new(claim.fence(), outcome);
                    assert_eq!(host.finish(&[finish]).await.unwrap(), [Recorded::Recorded], "{how}");
                }
                None => {
                    store.expire(id).await;
                    let most = if how.contains("last") { 1 } else { 3 };
                    // By another, since a SQLite host never takes its own living attempts for dead.
                    let recovered = store.host().await.recover_expired(most, 10).await.unwrap();
                    assert_eq!(recovered.len(), 1, "{how}");
                }
            }
            let item = store.get(id).await;
            assert_eq!((item.status, item.cancel_requested_at, item.error), (Status::Cancelled, requested, None), "{how}");
        }
        newer::assert_its_work_is_there(&store).await;
    }
}
