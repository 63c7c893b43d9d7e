//! Heartbeats.

use std::time::{Duration, Instant};

use workhost_queue::{Beat, CancelAnswer, Fence, Finish, ItemId, Outcome, Pulse, Recorded};

use crate::store::{LEASE, ask, contract, contract_on, json, new};

fn beat(fence: Fence, progress: Option<&str>) -> Beat {
    Beat { fence, progress: progress.map(json) }
}

contract! {
    async fn a_heartbeat_extends_the_lease_and_nothing_that_people_see(store) {
        let claim = store.running(new("a")).await;
        let id = claim.item.id;
        store.age(id, "updated_at", Duration::from_secs(100)).await;
        let before = store.get(id).await;
        store.expire(id).await;
        let pulses = store.queue.heartbeat(&[beat(claim.fence(), None)], LEASE * 2).await.unwrap();
        assert_eq!(pulses, [Pulse::Alive], "an attempt that nobody recovered yet still holds its item");
        let after = store.get(id).await;
        assert!(after.lease_expires_at.unwrap() >= before.lease_expires_at.unwrap() + LEASE);
        assert_eq!(after.updated_at, before.updated_at);
    }

    async fn a_heartbeat_carries_progress_which_people_see(store) {
        let claim = store.running(new("a")).await;
        let id = claim.item.id;
        store.age(id, "updated_at", Duration::from_secs(100)).await;
        let before = store.get(id).await.updated_at;
        store.queue.heartbeat(&[beat(claim.fence(), Some("{\"n\": 1}"))], LEASE).await.unwrap();
        let after = store.get(id).await;
        assert_eq!(after.progress.unwrap().as_str(), "{\"n\": 1}");
        assert!(after.updated_at > before);

        store.age(id, "updated_at", Duration::from_secs(100)).await;
        let before = store.get(id).await.updated_at;
        store.queue.heartbeat(&[beat(claim.fence(), Some("{\"n\": 1}"))], LEASE).await.unwrap();
        store.queue.heartbeat(&[beat(claim.fence(), None)], LEASE).await.unwrap();
        let after = store.get(id).await;
        assert_eq!((after.updated_at, after.progress.unwrap().as_str()), (before, "{\"n\": 1}"), "nothing new was reported");
    }

    async fn many_are_answered_in_order_each_for_itself(store) {
        store.queue.enqueue(&[new("a"), new("a"), new("a")]).await.unwrap();
        let claims = store.queue.claim(&ask("h", &[("a", 3)])).await.unwrap();
        let [first, second, third] = [0, 1, 2].map(|place: usize| claims[place].fence());
        assert_eq!(store.queue.cancel(second.id).await.unwrap(), CancelAnswer::Requested);
        let finish = Finish::new(first, Outcome::Succeeded(None));
        assert_eq!(store.queue.finish(&[finish]).await.unwrap(), [Recorded::Recorded]);
        let unknown = Fence { id: ItemId(99_999), attempt: 1 };
        let beats = [beat(third, Some("3")), beat(first, Some("1")), beat(unknown, None), beat(second, Some("2"))];
        let pulses = store.queue.heartbeat(&beats, LEASE).await.unwrap();
        assert_eq!(pulses, [Pulse::Alive, Pulse::Lost, Pulse::Lost, Pulse::CancelRequested]);
        assert_eq!(store.get(second.id).await.progress.unwrap().as_str(), "2", "a requested cancel stops no progress");
        assert_eq!(store.get(first.id).await.progress, None);
        assert_eq!(store.queue.heartbeat(&[], LEASE).await.unwrap(), []);
    }
}

contract! {
    async fn a_row_that_cannot_be_written_harms_no_other(store) {
        let claims = [store.running(new("a")).await, store.running(new("bad")).await, store.running(new("a")).await];
        store.refuse_updates_of("bad").await;
        let beats = claims.each_ref().map(|claim| beat(claim.fence(), Some("1")));
        let pulses = store.queue.heartbeat(&beats, LEASE).await.unwrap();
        assert_eq!(pulses, [Pulse::Alive, Pulse::Busy, Pulse::Alive]);
        assert_eq!(store.get(claims[2].item.id).await.progress.unwrap().as_str(), "1");
    }
}

contract_on! { Postgres:
    async fn a_locked_row_is_busy_and_delays_no_other(store) {
        store.queue.enqueue(&[new("a"), new("a"), new("a")]).await.unwrap();
        let claims = store.queue.claim(&ask("h", &[("a", 3)])).await.unwrap();
        let mut somebody = store.pg().begin().await.unwrap();
        sqlx::query("select from work_items where id = $1 for update")
            .bind(claims[0].item.id.0)
            .execute(&mut *somebody)
            .await
            .unwrap();
        for claim in &claims[1..] {
            store.expire(claim.item.id).await;
        }
        let beats: Vec<_> = claims.iter().map(|claim| beat(claim.fence(), None)).collect();
        let asked = Instant::now();
        let pulses = store.queue.heartbeat(&beats, LEASE).await.unwrap();
        assert_eq!(pulses, [Pulse::Busy, Pulse::Alive, Pulse::Alive]);
        assert!(asked.elapsed() < Duration::from_secs(2), "longer than a heartbeat interval: {:?}", asked.elapsed());
        let finishes: Vec<_> = claims
            .iter()
            .map(|claim| Finish::new(claim.fence(), Outcome::Succeeded(None)))
            .collect();
        let answers = store.queue.finish(&finishes).await.unwrap();
        assert_eq!(answers, [Recorded::Busy, Recorded::Recorded, Recorded::Recorded]);
        somebody.rollback().await.unwrap();
        assert_eq!(store.queue.heartbeat(&beats[..1], LEASE).await.unwrap(), [Pulse::Alive]);
        assert_eq!(store.queue.finish(&finishes[..1]).await.unwrap(), [Recorded::Recorded]);
    }

    async fn many_locked_rows_are_answered_within_a_heartbeat_interval(store) {
        let items: Vec<_> = (0..20).map(|_| new("a")).collect();
        store.queue.enqueue(&items).await.unwrap();
        let claims = store.queue.claim(&ask("h", &[("a", 20)])).await.unwrap();
        let mut somebody = store.pg().begin().await.unwrap();
        sqlx::query("select from work_items for update").execute(&mut *somebody).await.unwrap();
        let beats: Vec<_> = claims.iter().map(|claim| beat(claim.fence(), None)).collect();
        let asked = Instant::now();
        let pulses = store.queue.heartbeat(&beats, LEASE).await.unwrap();
        assert!(pulses.iter().all(|pulse| *pulse == Pulse::Busy));
        assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
        let finishes: Vec<_> = claims.iter().map(|claim| Finish::new(claim.fence(), Outcome::Succeeded(None))).collect();
        let asked = Instant::now();
        let answers = store.queue.finish(&finishes).await.unwrap();
        assert!(answers.iter().all(|answer| *answer == Recorded::Busy));
        assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    }
}
