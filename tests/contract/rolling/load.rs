//! Hosts that do everything that hosts do, all the time, and the count of it.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;
use tokio::task::JoinSet;
use workhost_queue::{Beat, CancelAnswer, Claim, Finish, ItemId, NewItem, Outcome, Pulse, Queue, Recorded};

use crate::store::{Engine, LEASE, TestStore, ask, keyed, new, scoped};

/// Hosts at work. A verb that is answered an error ends the test.
pub(super) struct Load {
    hosts: JoinSet<Done>,
    rounds: watch::Receiver<u64>,
    ending: Arc<AtomicBool>,
}

/// What the hosts were answered.
#[derive(Default)]
pub(super) struct Done {
    created: HashSet<ItemId>,
    /// Each item with the attempt's number.
    claimed: HashSet<(ItemId, u32)>,
    called_off: HashSet<ItemId>,
}

impl Load {
    pub(super) async fn start(store: &Arc<TestStore>, queues: &[Arc<dyn Queue>]) -> Load {
        count_endings(store).await;
        let (round, rounds) = watch::channel(0);
        let ending = Arc::new(AtomicBool::new(false));
        let mut hosts = JoinSet::new();
        for (number, queue) in queues.iter().enumerate() {
            let host = Host { name: format!("h{number}"), queue: Arc::clone(queue), done: Done::default() };
            hosts.spawn(host.run(Arc::clone(store), round.clone(), Arc::clone(&ending)));
        }
        Load { hosts, rounds, ending }
    }

    /// Waits until the hosts have done so many more rounds together.
    pub(super) async fn rounds(&mut self, more: u64) {
        let enough = *self.rounds.borrow() + more;
        tokio::select! {
            reached = self.rounds.wait_for(|rounds| *rounds >= enough) => drop(reached.unwrap()),
            Some(ended) = self.hosts.join_next() => panic!("a host ended: {:?}", ended.err()),
        }
    }

    /// Lets the hosts finish what there is.
    pub(super) async fn stop(self) -> Done {
        self.ending.store(true, Ordering::SeqCst);
        let mut all = Done::default();
        self.hosts.join_all().await.into_iter().for_each(|done| all.add(done));
        all
    }
}

impl Done {
    pub(super) fn add(&mut self, other: Done) {
        self.called_off.extend(other.called_off);
        for id in other.created {
            assert!(self.created.insert(id), "{id} was created twice");
        }
        for claim in other.claimed {
            assert!(self.claimed.insert(claim), "{claim:?} was claimed twice");
        }
    }

    /// Nothing was lost, nothing was doubled, and each item ended once.
    pub(super) async fn assert_whole(&self, store: &TestStore) {
        let items = i64::try_from(self.created.len()).unwrap();
        for (what, expected) in [
            ("from work_items", items),
            ("from work_items where status in ('succeeded', 'failed', 'cancelled')", items),
            ("from endings", items),
            ("from work_items where id in (select item_id from endings)", items),
            ("from work_items where cancel_requested_at is not null", i64::try_from(self.called_off.len()).unwrap()),
        ] {
            assert_eq!(store.number(format!("select count(*) {what}")).await, expected, "{what}");
        }
        let attempts = store.number("select cast(coalesce(sum(attempt), 0) as bigint) from work_items").await;
        assert_eq!(attempts, i64::try_from(self.claimed.len()).unwrap());
    }
}

/// Has the database itself count how often an item ends.
async fn count_endings(store: &TestStore) {
    store
        .sql(match store.engine {
            Engine::Postgres => {
                "create table if not exists endings (item_id bigint not null);
                create or replace function count_ending() returns trigger language plpgsql as $$
                begin insert into workhost.endings values (new.id); return null; end $$;
                create or replace trigger count_ending after update on work_items for each row
                    when (old.finished_at is null and new.finished_at is not null) execute function count_ending()"
            }
            Engine::Sqlite => {
                "create table if not exists endings (item_id integer not null);
                create trigger if not exists count_ending after update on work_items
                when old.finished_at is null and new.finished_at is not null
                begin insert into endings values (new.id); end"
            }
        })
        .await;
}

struct Host {
    name: String,
    queue: Arc<dyn Queue>,
    done: Done,
}

impl Host {
    async fn run(mut self, store: Arc<TestStore>, round: watch::Sender<u64>, ending: Arc<AtomicBool>) -> Done {
        let open = "select count(*) from work_items where status in ('queued', 'running')";
        for number in 0.. {
            if ending.load(Ordering::SeqCst) {
                if store.number(open).await == 0 {
                    break;
                }
            } else {
                self.enqueue(number).await;
            }
            self.work().await;
            round.send_modify(|rounds| *rounds += 1);
        }
        self.done
    }

    /// Items of each sort; one is called off while it waits, if nobody is faster.
    async fn enqueue(&mut self, number: u32) {
        let items = [
            new("a"),
            scoped("b", &format!("scope {}", number % 3)),
            keyed("a", &format!("key {}", number % 5)),
            NewItem { priority: 1, ..new("b") },
        ];
        let answers = self.queue.enqueue(&items).await.unwrap();
        let created: Vec<ItemId> = answers.iter().filter_map(|answer| answer.created()).collect();
        if number.is_multiple_of(3) {
            self.call_off(created[0]).await;
        }
        self.done.created.extend(created);
    }

    async fn call_off(&mut self, id: ItemId) {
        match self.queue.cancel(id).await.unwrap() {
            CancelAnswer::Cancelled | CancelAnswer::Requested => drop(self.done.called_off.insert(id)),
            CancelAnswer::Finished => {}
            CancelAnswer::Unknown => panic!("{id} is lost"),
        }
    }

    /// Claims, lives, is called off now and then, and ends in every way.
    async fn work(&mut self) {
        let claims = self.queue.claim(&ask(&self.name, &[("a", 3), ("b", 3)])).await.unwrap();
        for claim in &claims {
            assert!(self.done.claimed.insert((claim.item.id, claim.item.attempt)), "{claim:?} was claimed twice");
        }
        let mut pulses = self.beat(&claims).await;
        if let Some(claim) = claims.iter().find(|claim| claim.item.id.0 % 7 == 0) {
            self.call_off(claim.item.id).await;
            pulses = self.beat(&claims).await;
        }
        let mut finishes: Vec<Finish> =
            claims.iter().zip(pulses).map(|(claim, pulse)| Finish::new(claim.fence(), outcome(claim, pulse))).collect();
        while !finishes.is_empty() {
            let answers = self.queue.finish(&finishes).await.unwrap();
            assert!(!answers.contains(&Recorded::Lost), "{answers:?}");
            let mut answers = answers.into_iter();
            finishes.retain(|_| answers.next() == Some(Recorded::Busy));
        }
    }

    async fn beat(&self, claims: &[Claim]) -> Vec<Pulse> {
        let beats: Vec<Beat> = claims
            .iter()
            .map(|claim| Beat { fence: claim.fence(), progress: Some(crate::store::json("[1]")) })
            .collect();
        loop {
            let pulses = self.queue.heartbeat(&beats, LEASE).await.unwrap();
            assert!(!pulses.contains(&Pulse::Lost), "{pulses:?}");
            if !pulses.contains(&Pulse::Busy) {
                return pulses;
            }
        }
    }
}

fn outcome(claim: &Claim, pulse: Pulse) -> Outcome {
    let first = claim.item.attempt == 1;
    match claim.item.id.0 % 5 {
        _ if pulse == Pulse::CancelRequested => Outcome::Cancelled(None),
        0 if first => Outcome::Released,
        1 if first => Outcome::Retry { error: "once more".to_owned(), delay: std::time::Duration::ZERO },
        2 => Outcome::Failed { error: "no".to_owned() },
        _ => Outcome::Succeeded(Some(crate::store::json("{}"))),
    }
}
