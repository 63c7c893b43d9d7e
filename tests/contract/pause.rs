//! Holding work back.

use std::time::Duration;

use workhost_queue::{Beat, Finish, Outcome, Pausable, Periodic, Pulse, QueueError, Recorded, Schedule};

use crate::store::{LEASE, TestStore, ask, contract, contract_on, ids, json, new, scoped};

fn kind(kind: &str) -> Pausable {
    Pausable::Kind { kind: kind.to_owned() }
}

fn scope(scope: &str) -> Pausable {
    Pausable::Scope { scope: scope.to_owned() }
}

fn schedule(kind: &str, scope: Option<&str>) -> Pausable {
    Pausable::Schedule { kind: kind.to_owned(), scope: scope.map(str::to_owned) }
}

fn hourly(kind: &str, scope: Option<&str>) -> Periodic {
    Periodic {
        kind: kind.to_owned(),
        scope: scope.map(str::to_owned),
        payload: json("{}"),
        schedule: Schedule::Every(Duration::from_secs(3600)),
    }
}

/// The kinds and scopes that a host gets now.
async fn claimed(store: &TestStore) -> Vec<(String, Option<String>)> {
    let claims = store.queue.claim(&ask("h", &[("a", 9), ("b", 9)])).await.unwrap();
    claims.into_iter().map(|claim| (claim.item.kind, claim.item.scope)).collect()
}

async fn due(store: &TestStore, periodics: &[Periodic]) -> usize {
    store.queue.enqueue_due(periodics).await.unwrap().len()
}

contract! {
    async fn a_paused_kind_is_not_claimed_until_it_is_resumed(store) {
        for item in [new("a"), scoped("a", "s"), new("b"), scoped("b", "s")] {
            store.enqueue(item).await;
        }
        assert!(store.queue.pause(&kind("a"), None).await.unwrap());
        let got = claimed(&store).await;
        assert_eq!(got, [("b".to_owned(), None), ("b".to_owned(), Some("s".to_owned()))], "a holds up nobody");
        assert_eq!(claimed(&store).await, []);
        assert!(store.queue.resume(&kind("a"), None).await.unwrap());
        assert_eq!(claimed(&store).await, [("a".to_owned(), None)], "the scope is busy");
    }

    async fn a_paused_scope_is_not_claimed_on_any_host(store) {
        for item in [scoped("a", "s"), scoped("a", "t"), new("a")] {
            store.enqueue(item).await;
        }
        store.queue.pause(&scope("s"), None).await.unwrap();
        let listed = workhost_queue::ClaimRequest { scopes: Some(vec!["s".to_owned()]), ..ask("h", &[("b", 1)]) };
        store.enqueue(scoped("b", "s")).await;
        assert_eq!(ids(&store.host().await.claim(&listed).await.unwrap()), []);
        let got = claimed(&store).await;
        assert_eq!(got, [("a".to_owned(), Some("t".to_owned())), ("a".to_owned(), None)]);
        store.queue.resume(&scope("s"), None).await.unwrap();
        assert_eq!(claimed(&store).await, [("a".to_owned(), Some("s".to_owned()))]);
    }

    async fn a_kind_and_a_scope_of_one_name_are_two_things(store) {
        store.enqueue(scoped("a", "b")).await;
        store.queue.pause(&scope("a"), None).await.unwrap();
        store.queue.pause(&kind("b"), None).await.unwrap();
        store.queue.pause(&schedule("a", None), None).await.unwrap();
        assert_eq!(claimed(&store).await.len(), 1);
    }

    async fn running_work_goes_on(store) {
        let claim = store.running(scoped("a", "s")).await;
        store.queue.pause(&kind("a"), None).await.unwrap();
        store.queue.pause(&scope("s"), None).await.unwrap();
        let beat = Beat { fence: claim.fence(), progress: None };
        assert_eq!(store.queue.heartbeat(&[beat], LEASE).await.unwrap(), [Pulse::Alive]);
        let finish = Finish::new(claim.fence(), Outcome::Succeeded(None));
        assert_eq!(store.queue.finish(&[finish]).await.unwrap(), [Recorded::Recorded]);
    }

    async fn a_paused_schedule_enqueues_nothing_and_its_kind_is_claimed(store) {
        let both = [hourly("a", None), hourly("a", Some("s"))];
        store.queue.pause(&schedule("a", Some("s")), None).await.unwrap();
        assert_eq!(due(&store, &both).await, 1);
        assert_eq!(claimed(&store).await, [("a".to_owned(), None)]);
        store.queue.resume(&schedule("a", Some("s")), None).await.unwrap();
        store.queue.pause(&schedule("a", None), None).await.unwrap();
        assert_eq!(due(&store, &both).await, 1);
        assert_eq!(claimed(&store).await, [("a".to_owned(), Some("s".to_owned()))]);
    }

    async fn nothing_is_enqueued_by_schedule_for_a_paused_kind_or_scope(store) {
        let all = [hourly("a", None), hourly("a", Some("s")), hourly("b", Some("s")), hourly("b", Some("t"))];
        store.queue.pause(&kind("a"), None).await.unwrap();
        store.queue.pause(&scope("s"), None).await.unwrap();
        assert_eq!(due(&store, &all).await, 1);
        store.queue.resume(&scope("s"), None).await.unwrap();
        assert_eq!(due(&store, &all).await, 1);
        store.queue.resume(&kind("a"), None).await.unwrap();
        assert_eq!(due(&store, &all).await, 2);
    }

    async fn a_pause_outlives_its_host_and_tells_who_paused_first(store) {
        let all = [kind("a"), schedule("a", None), schedule("a", Some("s")), scope("s")];
        for work in &all {
            assert!(store.host().await.pause(work, Some("ann")).await.unwrap());
            assert!(!store.queue.pause(work, Some("bob")).await.unwrap());
        }
        let paused = store.host().await.paused().await.unwrap();
        let words: Vec<_> = paused.iter().map(|p| format!("{} by {}", p.work, p.by.as_deref().unwrap())).collect();
        assert_eq!(words, ["kind a by ann", "schedule a by ann", "schedule a/s by ann", "scope s by ann"]);
        assert!(paused.iter().map(|p| &p.work).eq(&[kind("a"), schedule("a", None), schedule("a", Some("s")), scope("s")]));
        for work in &all {
            assert!(store.queue.resume(work, None).await.unwrap());
            assert!(!store.queue.resume(work, None).await.unwrap());
        }
        assert_eq!(store.queue.paused().await.unwrap(), []);
    }

    async fn names_that_no_item_has_are_refused(store) {
        for (work, at_fault) in [(kind(""), "kind"), (scope(&"s".repeat(513)), "scope"), (schedule("a", Some("")), "scope")] {
            match store.queue.pause(&work, None).await {
                Err(QueueError::Invalid { field, .. }) => assert_eq!(field, at_fault),
                other => panic!("{work}: {other:?}"),
            }
        }
        let long = "n".repeat(257);
        assert!(matches!(store.queue.pause(&kind("a"), Some(&long)).await, Err(QueueError::Invalid { field: "actor", .. })));
    }

    async fn resuming_wakes_the_hosts(store) {
        let other = store.host().await;
        store.queue.pause(&kind("a"), None).await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        let wake = other.wake();
        // What the pause itself and the start told.
        while tokio::time::timeout(Duration::from_millis(300), wake.notified()).await.is_ok() {}
        store.queue.resume(&kind("a"), None).await.unwrap();
        tokio::time::timeout(Duration::from_secs(5), wake.notified()).await.expect("woken");
    }
}

contract_on! { Postgres:
    async fn a_pause_between_a_claims_look_and_its_taking_is_heeded(store) {
        let busy = store.enqueue(scoped("b", "s")).await;
        store.enqueue(scoped("a", "s")).await;
        // Somebody is just taking the scope, so the claim waits a quarter of a second, and then tries once more.
        let mut somebody = store.pg().begin().await.unwrap();
        sqlx::query(
            "update work_items set status = 'running', attempt = 1, host = 'h', started_at = now(),
                lease_expires_at = now() + interval '1 minute'
            where id = $1",
        )
        .bind(busy.0)
        .execute(&mut *somebody)
        .await
        .unwrap();
        let queue = store.host().await;
        let claim = tokio::spawn(async move { queue.claim(&ask("h", &[("a", 1)])).await.unwrap() });
        let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
        while store.number(waiting).await == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let seen = std::time::Instant::now();
        store.queue.pause(&kind("a"), None).await.unwrap();
        let in_time = seen.elapsed() < Duration::from_millis(150);
        tokio::time::sleep(Duration::from_millis(350).saturating_sub(seen.elapsed())).await;
        somebody.rollback().await.unwrap();
        let claims = claim.await.unwrap();
        assert!(claims.is_empty() || !in_time, "{claims:?}");
    }
}
