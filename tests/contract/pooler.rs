//! The queue behind PgBouncer, whose transaction mode keeps neither settings nor prepared statements.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use workhost_queue::{
    Beat, CancelAnswer, ConnectOptions, Enqueued, Filter, Finish, NewItem, Outcome, Periodic, Pooler, Pulse,
    QueueError, Recorded, Schedule, Status,
};

use crate::pgbouncer::PgBouncer;
use crate::store::{LEASE, ask, contract_on, ids, json, keyed, new, scoped};

contract_on! { Postgres:
    async fn behind_a_pooler_every_verb_does_what_it_does_without(store) {
        let pooler = PgBouncer::start(&store, "transaction", "");
        let host = pooler.host(Pooler::Transaction).await.unwrap();
        host.check().await.unwrap();

        let batch = [keyed("a", "k"), keyed("a", "k"), scoped("a", "s"), scoped("a", "s"), new("b")];
        let answers = host.enqueue(&batch).await.unwrap();
        assert_eq!(answers[1], Enqueued::Existing(answers[0].id()));
        let claims = host.claim(&ask("h", &[("a", 9)])).await.unwrap();
        assert_eq!(ids(&claims), [answers[0].id(), answers[2].id()], "one of the scope");
        let [first, second] = [claims[0].fence(), claims[1].fence()];

        let beats = [Beat { fence: first, progress: Some(json("[1]")) }, Beat { fence: second, progress: None }];
        assert_eq!(host.heartbeat(&beats, LEASE).await.unwrap(), [Pulse::Alive, Pulse::Alive]);
        assert_eq!(host.cancel(first.id).await.unwrap(), CancelAnswer::Requested);
        assert_eq!(host.cancel(answers[4].id()).await.unwrap(), CancelAnswer::Cancelled);
        assert_eq!(host.heartbeat(&beats, LEASE).await.unwrap(), [Pulse::CancelRequested, Pulse::Alive]);
        let cancelled = Finish::new(first, Outcome::Cancelled(Some(json("2"))));
        let released = Finish::new(second, Outcome::Released);
        assert_eq!(host.finish(&[cancelled, released]).await.unwrap(), [Recorded::Recorded, Recorded::Recorded]);
        let item = host.get(first.id).await.unwrap().unwrap();
        assert_eq!((item.status, item.progress.unwrap().as_str()), (Status::Cancelled, "[1]"));

        let again = host.claim(&ask("h", &[("a", 1)])).await.unwrap();
        assert_eq!((again[0].item.id, again[0].item.attempt), (second.id, 2));
        store.expire(second.id).await;
        assert_eq!(host.recover_expired(3, 10).await.unwrap()[0].id, second.id);

        let periodic = Periodic { kind: "p".to_owned(), scope: None, payload: json("{}"), schedule: Schedule::Every(LEASE) };
        assert_eq!(host.enqueue_due(std::slice::from_ref(&periodic)).await.unwrap().len(), 1);
        assert_eq!(host.enqueue_due(&[periodic]).await.unwrap(), []);
        let cancelled = Filter { statuses: vec![Status::Cancelled], ..Filter::default() };
        assert_eq!(host.list(&cancelled).await.unwrap().len(), 2);
        assert_eq!(host.counts().await.unwrap().iter().map(|count| count.count).sum::<u64>(), 5);
        store.age(answers[4].id(), "finished_at", Duration::from_secs(3600)).await;
        assert_eq!(host.delete_finished(None, Duration::from_secs(60), 10).await.unwrap(), Some(1));

        let nul = NewItem::new("a", serde_json::json!("\0").into());
        assert!(matches!(host.enqueue(&[nul]).await, Err(QueueError::Invalid { field: "payload", .. })));
        let listeners = "select count(*) from pg_stat_activity where query ilike 'listen%' and datname = current_database()";
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(store.number(listeners).await, 1, "only the host without a pooler listens");
    }

    async fn hosts_that_share_the_poolers_connections_do_not_meet_each_others_statements(store) {
        let pooler = PgBouncer::start(&store, "transaction", "");
        let items: Vec<_> = (0..200).map(|n| scoped("a", &format!("{}", n % 50))).collect();
        store.queue.enqueue(&items).await.unwrap();
        let barrier = Arc::new(Barrier::new(8));
        let mut racers = JoinSet::new();
        for racer in 0..8 {
            let (queue, barrier) = (pooler.host(Pooler::Transaction).await.unwrap(), Arc::clone(&barrier));
            racers.spawn(async move {
                let (mut mine, mut idle) = (Vec::new(), 0);
                barrier.wait().await;
                while idle < 20 {
                    let claims = queue.claim(&ask(&format!("h{racer}"), &[("a", 5)])).await.unwrap();
                    idle = if claims.is_empty() { idle + 1 } else { 0 };
                    mine.extend(ids(&claims));
                    let beats: Vec<_> = claims.iter().map(|claim| Beat { fence: claim.fence(), progress: None }).collect();
                    assert!(queue.heartbeat(&beats, LEASE).await.unwrap().iter().all(|pulse| *pulse == Pulse::Alive));
                    let done = |beat: &Beat| Finish::new(beat.fence, Outcome::Succeeded(None));
                    let done: Vec<_> = beats.iter().map(done).collect();
                    assert!(queue.finish(&done).await.unwrap().iter().all(|answer| *answer == Recorded::Recorded));
                }
                mine
            });
        }
        let claimed: Vec<_> = racers.join_all().await.into_iter().flatten().collect();
        assert_eq!((claimed.len(), claimed.iter().collect::<HashSet<_>>().len()), (200, 200));
    }

    async fn the_settings_of_a_verb_hold_behind_a_pooler_and_stay_with_it(store) {
        let claim = store.running(new("a")).await;
        let pooler = PgBouncer::start(&store, "transaction", "");
        let host = pooler.host(Pooler::Transaction).await.unwrap();
        let mut somebody = store.pg().begin().await.unwrap();
        sqlx::query("select from work_items for update").execute(&mut *somebody).await.unwrap();
        let asked = Instant::now();
        let beat = Beat { fence: claim.fence(), progress: None };
        assert_eq!(host.heartbeat(&[beat], LEASE).await.unwrap(), [Pulse::Busy]);
        assert!(asked.elapsed() < Duration::from_secs(5), "it did not wait for the row: {:?}", asked.elapsed());
        somebody.rollback().await.unwrap();

        let options: sqlx::postgres::PgConnectOptions = pooler.url().parse().unwrap();
        let mut client = PgConnection::connect_with(&options.extra_float_digits(None)).await.unwrap();
        for setting in ["show lock_timeout", "show statement_timeout"] {
            let rows = sqlx::raw_sql(setting).fetch_all(&mut client).await.unwrap();
            assert_eq!(sqlx::Row::get::<String, _>(&rows[0], 0), "0", "{setting} is another client's affair");
        }
        client.close().await.unwrap();
    }

    async fn a_schema_is_migrated_through_a_pooler_unless_another_holds_the_lock(store) {
        store.sql("drop schema workhost cascade").await;
        let pooler = PgBouncer::start(&store, "transaction", "");
        let host = pooler.host(Pooler::Transaction).await.unwrap();
        let mut holder = PgConnection::connect(&store.url).await.unwrap();
        sqlx::query("select pg_advisory_lock(x'776f726b686f7374'::bigint)").execute(&mut holder).await.unwrap();
        let impatient = ConnectOptions {
            pooler: Pooler::Transaction,
            migration_wait: Duration::from_millis(400),
            ..ConnectOptions::default()
        };
        let held = pooler.host_with(impatient).await.unwrap().migrate().await.unwrap_err();
        assert!(matches!(&held, QueueError::Held { holder, .. } if holder.contains("pid ")), "{held}");
        holder.close().await.unwrap();
        let (one, two) = (pooler.host(Pooler::Transaction).await.unwrap(), host);
        let (one, two) = tokio::join!(one.migrate(), two.migrate());
        assert_eq!(one.unwrap().applied.len() + two.unwrap().applied.len(), 1);
        assert_eq!(store.queue.migrate().await.unwrap().applied.len(), 0);
    }

    async fn a_pooler_in_statement_mode_is_refused_with_the_mend(store) {
        let pooler = PgBouncer::start(&store, "statement", "");
        let refused = pooler.host(Pooler::Transaction).await.err().unwrap();
        assert!(matches!(refused, QueueError::Unusable { .. }), "{refused:?}");
        assert!(refused.to_string().contains("set pool_mode = transaction"), "{refused}");
    }

    async fn a_pooler_that_nobody_told_of_is_refused_with_the_mend(store) {
        for more in ["", "ignore_startup_parameters = extra_float_digits, options"] {
            for pool_mode in ["transaction", "session"] {
                let pooler = PgBouncer::start(&store, pool_mode, more);
                let refused = pooler.host(Pooler::None).await.err().unwrap();
                assert!(matches!(refused, QueueError::Unusable { .. }), "{pool_mode}, {more}: {refused:?}");
                assert!(refused.to_string().contains("set pooler = \"transaction\" under [store]"), "{refused}");
            }
        }
        let pooler = PgBouncer::start(&store, "session", "");
        pooler.host(Pooler::Transaction).await.unwrap().enqueue(&[new("a")]).await.unwrap();
    }
}
