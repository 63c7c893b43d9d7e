//! Periodic kinds with a cron schedule.

use std::sync::Arc;
use std::time::Duration;

use time::OffsetDateTime;
use workhost_queue::{Claim, Cron, Finish, ItemId, Outcome, Pausable, Periodic, Queue, Schedule, Status};

use crate::due_race::Racers;
use crate::store::{Engine, TestStore, contract, contract_on, json, keyed, new};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Longer than a year: a yearly slot lies in between.
const YEAR: Duration = Duration::from_secs(366 * 24 * 3600);

fn cron(kind: &str, expression: &str, zone: Option<&str>) -> Periodic {
    let schedule = Schedule::Cron(Cron::parse(expression, zone).unwrap());
    Periodic { kind: kind.to_owned(), scope: None, payload: json("{\"days\": 30}"), schedule }
}

fn every(kind: &str, interval: Duration) -> Periodic {
    Periodic { schedule: Schedule::Every(interval), ..yearly(kind) }
}

/// A slot the day after tomorrow and one about 363 days ago, so that the time of day at which a test runs does not matter.
fn yearly(kind: &str) -> Periodic {
    let mut day = OffsetDateTime::now_utc() + 2 * DAY;
    if (u8::from(day.month()), day.day()) == (2, 29) {
        day += DAY;
    }
    cron(kind, &format!("0 12 {} {} *", day.day(), u8::from(day.month())), None)
}

/// Enqueues what is due and answers the one item, if there is one.
async fn due(store: &TestStore, periodic: &Periodic) -> Option<ItemId> {
    let ids = store.queue.enqueue_due(std::slice::from_ref(periodic)).await.unwrap();
    assert!(ids.len() <= 1);
    ids.first().copied()
}

async fn finish(queue: &Arc<dyn Queue>, claim: &Claim, outcome: Outcome) {
    queue.finish(&[Finish::new(claim.fence(), outcome)]).await.unwrap();
}

/// Claims the item of a kind and finishes it.
async fn run(store: &TestStore, kind: &str, outcome: Outcome) -> ItemId {
    let claim = store.claim(kind).await.unwrap();
    finish(&store.queue, &claim, outcome).await;
    claim.item.id
}

/// Moves the time at which all schedules were first seen back: tests move rows, never the clock.
async fn seen_earlier(store: &TestStore, by: Duration) {
    let by = match store.engine {
        Engine::Postgres => format!("{} * interval '1 millisecond'", by.as_millis()),
        Engine::Sqlite => by.as_millis().to_string(),
    };
    store.sql(format!("update schedules set created_at = created_at - {by}")).await;
}

/// A schedule that was first seen long ago and ran once, just now.
async fn established(store: &TestStore, periodic: &Periodic) -> ItemId {
    assert_eq!(due(store, periodic).await, None, "first seen");
    seen_earlier(store, 20 * YEAR).await;
    due(store, periodic).await.expect("a slot has passed since");
    run(store, &periodic.kind, Outcome::Succeeded(None)).await
}

contract! {
    async fn a_cron_kind_without_history_waits_for_the_first_slot_after_it_was_first_seen(store) {
        assert_eq!(due(&store, &yearly("a")).await, None);
        seen_earlier(&store, 300 * DAY).await;
        assert_eq!(due(&store, &yearly("a")).await, None, "seen when it was first looked at, not now");
        seen_earlier(&store, 100 * DAY).await;
        let id = due(&store, &yearly("a")).await.expect("a slot has passed since");
        let item = store.get(id).await;
        assert_eq!((item.kind.as_str(), item.dedup_key.as_deref(), item.payload.as_str()), ("a", Some("a"), "{\"days\": 30}"));
    }

    async fn it_is_due_once_a_slot_lies_after_the_creation_of_its_last_run_however_that_ended(store) {
        established(&store, &yearly("a")).await;
        for outcome in [Outcome::Succeeded(None), Outcome::Failed { error: "broke".to_owned() }, Outcome::Cancelled(None)] {
            let last = store.queue.list(&Default::default()).await.unwrap()[0].id;
            assert_eq!(due(&store, &yearly("a")).await, None, "{outcome:?}");
            // When it finished does not matter, only when it was created.
            store.age(last, "finished_at", YEAR).await;
            store.age(last, "created_at", 300 * DAY).await;
            assert_eq!(due(&store, &yearly("a")).await, None, "{outcome:?}: no slot since");
            store.age(last, "created_at", 100 * DAY).await;
            assert!(due(&store, &yearly("a")).await.is_some(), "{outcome:?}");
            run(&store, "a", outcome).await;
        }
    }

    async fn a_run_that_was_cancelled_while_queued_counts(store) {
        assert_eq!(due(&store, &yearly("a")).await, None);
        seen_earlier(&store, YEAR).await;
        let id = due(&store, &yearly("a")).await.unwrap();
        store.queue.cancel(id).await.unwrap();
        assert_eq!(due(&store, &yearly("a")).await, None, "the scheduler would undo the cancel");
        store.age(id, "created_at", YEAR).await;
        assert!(due(&store, &yearly("a")).await.is_some());
    }

    async fn slots_that_pass_while_it_is_queued_running_or_waiting_for_a_retry_are_one_run_afterwards(store) {
        let before = established(&store, &yearly("a")).await;
        store.age(before, "created_at", 5 * YEAR).await;
        let id = store.enqueue(keyed("a", "a")).await;
        store.age(id, "created_at", YEAR).await;
        assert_eq!(due(&store, &yearly("a")).await, None, "queued");
        let claim = store.claim("a").await.unwrap();
        assert_eq!(due(&store, &yearly("a")).await, None, "running");
        finish(&store.queue, &claim, Outcome::Retry { error: "later".to_owned(), delay: Duration::ZERO }).await;
        assert_eq!(due(&store, &yearly("a")).await, None, "waiting for a retry");
        store.age(id, "created_at", YEAR).await;
        run(&store, "a", Outcome::Succeeded(None)).await;
        assert!(due(&store, &yearly("a")).await.is_some());
        run(&store, "a", Outcome::Succeeded(None)).await;
        assert_eq!(due(&store, &yearly("a")).await, None);
    }

    async fn after_downtime_it_runs_at_once_and_once(store) {
        let id = established(&store, &yearly("a")).await;
        store.age(id, "created_at", 9 * YEAR).await;
        store.age(id, "finished_at", 9 * YEAR).await;
        assert!(due(&store, &yearly("a")).await.is_some());
        run(&store, "a", Outcome::Succeeded(None)).await;
        assert_eq!(due(&store, &yearly("a")).await, None);
    }

    async fn a_run_by_hand_under_its_key_counts_and_other_items_of_the_kind_do_not(store) {
        let id = established(&store, &yearly("a")).await;
        store.age(id, "created_at", YEAR).await;
        store.enqueue(keyed("a", "a")).await;
        let by_hand = run(&store, "a", Outcome::Succeeded(None)).await;
        for other in [new("a"), keyed("a", "other"), keyed("b", "a")] {
            let kind = other.kind.clone();
            store.enqueue(other).await;
            run(&store, &kind, Outcome::Succeeded(None)).await;
        }
        assert_eq!(due(&store, &yearly("a")).await, None);
        store.age(by_hand, "created_at", YEAR).await;
        assert!(due(&store, &yearly("a")).await.is_some());
    }

    async fn the_newest_creation_counts_though_an_older_item_finished_later(store) {
        let id = established(&store, &yearly("a")).await;
        store.age(id, "created_at", YEAR).await;
        store.enqueue(keyed("a", "a")).await;
        let newest = run(&store, "a", Outcome::Succeeded(None)).await;
        store.age(newest, "created_at", DAY).await;
        store.age(newest, "finished_at", HOUR).await;
        assert_eq!(due(&store, &yearly("a")).await, None);
    }

    async fn a_paused_schedule_is_seen_and_makes_up_one_run_when_it_is_resumed(store) {
        let schedule = Pausable::Schedule { kind: "a".to_owned(), scope: None };
        store.queue.pause(&schedule, None).await.unwrap();
        assert_eq!(due(&store, &yearly("a")).await, None);
        seen_earlier(&store, 2 * YEAR).await;
        assert_eq!(due(&store, &yearly("a")).await, None, "paused");
        store.queue.resume(&schedule, None).await.unwrap();
        assert!(due(&store, &yearly("a")).await.is_some());
        assert_eq!(due(&store, &yearly("a")).await, None);
    }

    async fn each_scope_is_a_schedule_of_its_own(store) {
        let of = |scope: &str| Periodic { scope: Some(scope.to_owned()), ..yearly("a") };
        let [x, y] = [of("x"), of("y")];
        assert_eq!(due(&store, &x).await, None);
        seen_earlier(&store, YEAR).await;
        let ids = store.queue.enqueue_due(&[yearly("b"), x, y, every("c", HOUR)]).await.unwrap();
        assert_eq!(ids.len(), 2, "those that were just seen wait");
        assert_eq!(store.get(ids[0]).await.dedup_key.as_deref(), Some("a/x"));
        assert_eq!(store.get(ids[1]).await.kind, "c");
    }

    async fn a_changed_rule_applies_as_if_it_had_always_been(store) {
        let id = established(&store, &yearly("a")).await;
        store.age(id, "created_at", 40 * DAY).await;
        store.age(id, "finished_at", 39 * DAY).await;
        assert_eq!(due(&store, &yearly("a")).await, None);
        assert_eq!(due(&store, &every("a", 50 * DAY)).await, None);
        assert_eq!(due(&store, &yearly("a")).await, None);
        assert!(due(&store, &every("a", 30 * DAY)).await.is_some());
        let id = run(&store, "a", Outcome::Succeeded(None)).await;
        store.age(id, "created_at", 40 * DAY).await;
        assert_eq!(due(&store, &every("a", HOUR)).await, None, "it finished just now");
        assert!(due(&store, &cron("a", "0 0 * * *", None)).await.is_some());
    }

    async fn another_time_zone_moves_the_slots(store) {
        let id = established(&store, &yearly("a")).await;
        store.age(id, "created_at", 2 * HOUR).await;
        let slot = OffsetDateTime::now_utc() - HOUR;
        let expression = format!("{} {} {} {} *", slot.minute(), slot.hour(), slot.day(), u8::from(slot.month()));
        for (zone, hours) in [("Pacific/Kiritimati", "fifteen hours ago"), ("Etc/GMT+12", "in eleven hours")] {
            assert_eq!(due(&store, &cron("a", &expression, Some(zone))).await, None, "{hours}");
        }
        assert!(due(&store, &cron("a", &expression, Some("UTC"))).await.is_some());
    }

    async fn retention_keeps_the_newest_creation_of_a_schedule(store) {
        assert_eq!(due(&store, &yearly("a")).await, None);
        seen_earlier(&store, 5 * YEAR).await;
        let mut ids = Vec::new();
        // One that took long, and two that were run by hand meanwhile: days since its creation and since its end.
        for (created, finished) in [(400, 40), (300, 290), (500, 350)] {
            store.enqueue(keyed("a", "a")).await;
            let id = run(&store, "a", Outcome::Succeeded(None)).await;
            store.age(id, "created_at", created * DAY).await;
            store.age(id, "finished_at", finished * DAY).await;
            ids.push(id);
        }
        assert_eq!(store.queue.delete_finished(None, 30 * DAY, 100).await.unwrap(), Some(1));
        assert_eq!(store.get(ids[1]).await.status, Status::Succeeded, "the newest by its creation");
        assert_eq!(due(&store, &yearly("a")).await, None);
        let newer_in_both = store.enqueue(keyed("a", "a")).await;
        run(&store, "a", Outcome::Succeeded(None)).await;
        assert_eq!(store.queue.delete_finished(None, 30 * DAY, 100).await.unwrap(), Some(2));
        assert_eq!(store.get(newer_in_both).await.status, Status::Succeeded);
    }

    async fn racing_hosts_make_exactly_one_item_per_slot(store) {
        let hosts = Racers::new(&store).await;
        // In the first round nobody has seen the schedule yet.
        for round in 0..=12 {
            assert_eq!(hosts.run(&store, &yearly("a")).await, usize::from(round > 0), "slot {round}");
            assert_eq!(store.number("select count(*) from work_items").await, round);
            seen_earlier(&store, YEAR).await;
            for item in store.queue.list(&Default::default()).await.unwrap() {
                assert_eq!(item.status, Status::Succeeded);
                store.age(item.id, "created_at", YEAR).await;
                store.age(item.id, "finished_at", YEAR).await;
            }
        }
    }
}

contract_on! { Postgres:
    async fn looking_for_what_is_due_waits_for_no_writer(store) {
        let kinds: Vec<Periodic> = (0..50).flat_map(|n| [yearly(&format!("c{n}")), every(&format!("i{n}"), HOUR)]).collect();
        assert_eq!(store.queue.enqueue_due(&kinds).await.unwrap().len(), 50);
        assert_eq!(store.queue.enqueue_due(&kinds).await.unwrap(), []);
        let mut writer = store.pg().begin().await.unwrap();
        sqlx::raw_sql("lock table work_items, schedules in exclusive mode").execute(&mut *writer).await.unwrap();
        assert_eq!(store.queue.enqueue_due(&kinds).await.unwrap(), []);
        writer.rollback().await.unwrap();
    }
}
