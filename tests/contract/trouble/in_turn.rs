//! A store that fails in the middle of a verb: what is one row's fault, what is a race, and what is nobody's.

use std::time::Duration;

use workhost_queue::{Beat, Claim, Finish, Outcome, Pulse, QueueError, Recorded, Result, Status};

use crate::store::{LEASE, TestStore, ask, contract_on, ids, new, scoped};

/// One row cannot be written.
const REFUSED: &str = "P0001";
/// The place in a unique index was taken meanwhile.
const RACED: &str = "23505";
/// The disk is full.
const FULL: &str = "53100";
/// As ever.
const FINE: &str = "";

/// Lets the updates of items that follow fail or work in turn; all after these work.
async fn in_turn(store: &TestStore, turns: &[&str]) {
    // What a rollback does not undo: the sequence tells how often it was tried.
    store
        .sql(format!(
            "drop sequence if exists turns cascade;
            drop function if exists take_turn cascade;
            create sequence turns;
            create function take_turn() returns trigger language plpgsql as $$
                declare code text := (array['{}'])[nextval('workhost.turns')];
                begin
                    if code <> '' then raise exception 'refused in its turn' using errcode = code; end if;
                    return new;
                end $$;
            create trigger take_turn before update on work_items for each row execute function take_turn()",
            turns.join("', '")
        ))
        .await;
}

/// The turns that were taken.
async fn taken(store: &TestStore) -> i64 {
    store.number("select last_value from turns").await
}

fn is_unavailable<T: std::fmt::Debug>(answer: Result<T>) -> bool {
    match answer {
        Err(QueueError::Unavailable { .. }) => true,
        other => panic!("{other:?}"),
    }
}

fn beat(claim: &Claim) -> [Beat; 1] {
    [Beat { fence: claim.fence(), progress: None }]
}

fn finish(claim: &Claim) -> [Finish; 1] {
    [Finish::new(claim.fence(), Outcome::Succeeded(None))]
}

contract_on! { Postgres:
    async fn a_full_disk_is_no_rows_fault_also_when_rows_are_tried_alone(store) {
        let claim = store.running(new("a")).await;
        for turns in [&[FULL][..], &[REFUSED, FULL]] {
            in_turn(&store, turns).await;
            assert!(is_unavailable(store.queue.heartbeat(&beat(&claim), LEASE).await));
            in_turn(&store, turns).await;
            assert!(is_unavailable(store.queue.finish(&finish(&claim)).await));
            store.expire(claim.item.id).await;
            in_turn(&store, turns).await;
            assert!(is_unavailable(store.queue.recover_expired(3, 10).await));
        }
        assert_eq!(store.get(claim.item.id).await.status, Status::Running);
        in_turn(&store, &[REFUSED, REFUSED]).await;
        assert_eq!(store.queue.heartbeat(&beat(&claim), LEASE).await.unwrap(), [Pulse::Busy]);
        assert_eq!(store.queue.finish(&finish(&claim)).await.unwrap(), [Recorded::Recorded]);
    }

    async fn a_row_that_lost_a_race_for_its_key_is_tried_again(store) {
        let claim = store.running(new("a")).await;
        in_turn(&store, &[RACED; 3]).await;
        assert_eq!(store.queue.finish(&finish(&claim)).await.unwrap(), [Recorded::Recorded]);
        assert_eq!(taken(&store).await, 4);

        let id = store.running(new("a")).await.item.id;
        store.expire(id).await;
        in_turn(&store, &[RACED; 3]).await;
        assert_eq!(store.queue.recover_expired(3, 10).await.unwrap().len(), 1);
        assert_eq!(taken(&store).await, 4);
    }

    async fn a_row_that_loses_every_race_is_left_for_the_next_time(store) {
        let claim = store.running(new("a")).await;
        in_turn(&store, &[RACED; 6]).await;
        assert_eq!(store.queue.finish(&finish(&claim)).await.unwrap(), [Recorded::Busy]);
        assert_eq!(taken(&store).await, 6, "once with the others, five times alone");
        store.expire(claim.item.id).await;
        in_turn(&store, &[RACED; 6]).await;
        assert_eq!(store.queue.recover_expired(3, 10).await.unwrap(), []);
        assert_eq!(taken(&store).await, 6, "once with the others, five times alone");
        assert_eq!(store.queue.recover_expired(3, 10).await.unwrap().len(), 1);
    }

    async fn a_claim_on_a_full_disk_is_unavailable_also_after_a_race_for_a_scope(store) {
        store.enqueue(scoped("a", "s")).await;
        for turns in [&[FULL][..], &[RACED, FULL]] {
            in_turn(&store, turns).await;
            assert!(is_unavailable(store.queue.claim(&ask("h", &[("a", 1)])).await));
        }
        assert!(store.claim("a").await.is_some());
    }

    async fn what_a_claim_took_before_the_trouble_is_told(store) {
        store.queue.enqueue(&[scoped("a", "s"), scoped("a", "t")]).await.unwrap();
        in_turn(&store, &[RACED, FINE, FULL]).await;
        assert_eq!(store.queue.claim(&ask("h", &[("a", 2)])).await.unwrap().len(), 1, "one scope was taken before");
        // On a slow machine the time for races may have been over before the last turn.
        in_turn(&store, &[FINE]).await;
        assert_eq!(store.queue.claim(&ask("h", &[("a", 2)])).await.unwrap().len(), 1);

        // One of the first two is locked, so that the claim goes on for a third.
        let enqueued = store.queue.enqueue(&[new("b"), new("b"), new("b")]).await.unwrap();
        in_turn(&store, &[FINE, FULL]).await;
        let mut somebody = store.pg().begin().await.unwrap();
        sqlx::query("select from work_items where id = $1 for update")
            .bind(enqueued[0].id().0)
            .execute(&mut *somebody)
            .await
            .unwrap();
        let claims = store.queue.claim(&ask("h", &[("b", 2)])).await.unwrap();
        assert_eq!((ids(&claims), taken(&store).await), (vec![enqueued[1].id()], 2));
    }

    async fn a_row_that_comes_free_in_time_is_waited_for(store) {
        for verb in ["beat", "finish"] {
            let claim = store.running(new("a")).await;
            let mut somebody = store.pg().begin().await.unwrap();
            sqlx::query("select from work_items where id = $1 for update")
                .bind(claim.item.id.0)
                .execute(&mut *somebody)
                .await
                .unwrap();
            let queue = store.host().await;
            let asked = tokio::spawn(async move {
                match verb {
                    "beat" => queue.heartbeat(&beat(&claim), LEASE).await.unwrap() == [Pulse::Alive],
                    _ => queue.finish(&finish(&claim)).await.unwrap() == [Recorded::Recorded],
                }
            });
            while store.number("select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()").await == 0 {
                assert!(!asked.is_finished(), "the {verb} did not wait");
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            somebody.rollback().await.unwrap();
            assert!(asked.await.unwrap(), "{verb}");
        }
    }

    async fn a_statement_of_a_transaction_is_prepared_once_and_kept(store) {
        let claim = store.running(new("a")).await;
        store
            .sql(
                "create table kept (statements bigint);
                create function look() returns trigger language plpgsql as $$ begin
                    insert into workhost.kept select count(*) from pg_prepared_statements where statement like '%for no key update';
                    return new;
                end $$;
                create trigger look before update on work_items for each row execute function look()",
            )
            .await;
        // Refused among others, so that it is tried alone, in a transaction.
        in_turn(&store, &[REFUSED]).await;
        assert_eq!(store.queue.heartbeat(&beat(&claim), LEASE).await.unwrap(), [Pulse::Alive]);
        assert_eq!(store.number("select max(statements) from kept").await, 1);
    }
}
