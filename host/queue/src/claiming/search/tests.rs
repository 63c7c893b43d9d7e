//! Claims against a small queue in memory, beside a claim that looks at everything each time.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use time::OffsetDateTime;

use crate::claiming::{Hint, Store, Survey, claim};
use crate::{ItemId, Json, KindSlots, LastChances, Status, WorkItem};

use super::*;

mod beaten;

const KINDS: [&str; 3] = ["a", "b", "c"];
const SCOPES: [&str; 4] = ["", "s", "t", "u"];

/// What happens between two claims.
#[derive(Clone, Debug)]
enum Step {
    /// Queued: kind, scope, priority, run_at from now.
    Enqueue(usize, usize, i32, i64),
    /// The running item of this place goes back to where it was in line, or ends.
    Release(usize),
    Finish(usize),
    /// The queued item of this place gets another priority and time.
    Move(usize, i32, i64),
    Cancel(usize),
    Pause(usize),
    Resume(usize),
    Wait(i64),
    /// A host claims: the slots of each kind, how many in all, and how many of those another host takes first.
    Claim([u32; 3], u32, usize),
    /// Another host takes the first of what is free.
    Rival,
}

#[derive(Clone, Debug)]
struct Item {
    lane: Lane,
    place: Place,
    status: Status,
    changed: i64,
}

#[derive(Clone, Debug, Default)]
struct Memory {
    now: i64,
    changes: i64,
    items: BTreeMap<i64, Item>,
    paused: BTreeSet<String>,
    /// How many items looks have touched that were no arrivals.
    visited: usize,
    surveys: usize,
    /// How many of the items that are chosen next another host takes first.
    rivals: usize,
}

impl Memory {
    fn change(&mut self, id: i64, edit: impl FnOnce(&mut Item)) {
        self.changes += 1;
        let item = self.items.get_mut(&id).unwrap();
        edit(item);
        item.changed = self.changes;
    }

    fn queued(&self) -> impl Iterator<Item = &Item> {
        self.items.values().filter(|item| item.status == Status::Queued)
    }

    fn nth(&self, status: Status, n: usize) -> Option<i64> {
        let ids: Vec<i64> = self.items.iter().filter(|(_, item)| item.status == status).map(|(id, _)| *id).collect();
        (!ids.is_empty()).then(|| ids[n % ids.len()])
    }

    fn held(&self, lane: &Lane) -> bool {
        let busy = |item: &Item| item.status == Status::Running && item.lane.scope == lane.scope;
        self.paused.contains(&lane.kind) || lane.scope.is_some() && self.items.values().any(busy)
    }

    /// The items that a claim must take, in their order: found by looking at everything.
    fn expected(&self, request: &ClaimRequest) -> Vec<i64> {
        let known = |item: &&Item| request.kinds.iter().any(|kind| kind.kind == item.lane.kind);
        let due = self.queued().filter(known).filter(|item| item.place.run_at <= self.now && !self.held(&item.lane));
        let mut due: Vec<&Item> = due.collect();
        due.sort_by_key(|item| (Reverse(item.lane.priority), item.place));
        let mut scopes = HashSet::new();
        due.retain(|item| item.lane.scope.is_none() || scopes.insert(item.lane.scope.clone()));
        let candidate = |item: &&Item| Candidate {
            id: item.place.id,
            kind: item.lane.kind.clone(),
            scope: item.lane.scope.clone(),
        };
        let mut waiting = due.iter().map(candidate).collect();
        Choice::new(request).next(&mut waiting).into_iter().map(|candidate| candidate.id).collect()
    }
}

impl Memory {
    /// The items that a claim must take after its rivals took the first of what it wants.
    fn left_by_rivals(&mut self, request: &ClaimRequest) -> Vec<i64> {
        for id in self.expected(request).into_iter().take(self.rivals) {
            self.change(id, |item| item.status = Status::Running);
        }
        self.expected(request)
    }
}

impl Store for Memory {
    type Mark = i64;

    async fn survey(&mut self, kinds: &[String], _: Option<&[String]>) -> sqlx::Result<Survey<i64>> {
        self.surveys += 1;
        let mut lanes: BTreeMap<Lane, Place> = BTreeMap::new();
        for item in self.queued().filter(|item| kinds.contains(&item.lane.kind)) {
            let first = lanes.entry(item.lane.clone()).or_insert(item.place);
            *first = item.place.min(*first);
        }
        Ok(Survey { mark: self.changes, now: self.now, lanes: lanes.into_iter().collect() })
    }

    async fn look(&mut self, frontier: &Frontier<i64>, lanes: &[(Lane, Place)], most: u32) -> sqlx::Result<Sight<i64>> {
        let found = |(lane, place): &(Lane, Place)| {
            let from = self.queued().filter(|item| item.lane == *lane && item.place >= *place);
            let mut places: Vec<Place> = from.map(|item| item.place).collect();
            places.sort_unstable();
            places.truncate(if lane.scope.is_some() { 1 } else { most as usize });
            Found { places, held: self.held(lane) }
        };
        let mut arrived: BTreeMap<&Lane, Place> = BTreeMap::new();
        for item in
            self.queued().filter(|item| item.changed > frontier.mark && frontier.kinds.contains(&item.lane.kind))
        {
            let first = arrived.entry(&item.lane).or_insert(item.place);
            *first = item.place.min(*first);
        }
        let arrivals = arrived.into_iter().map(|(lane, place)| Arrival {
            lane: lane.clone(),
            found: Found { places: vec![place], held: self.held(lane) },
        });
        let (arrivals, found): (_, Vec<Found>) = (arrivals.collect(), lanes.iter().map(found).collect());
        self.visited += found.iter().map(|found| found.places.len()).sum::<usize>();
        Ok(Sight { mark: self.changes, now: self.now, lanes: found, arrivals })
    }

    async fn take(&mut self, chosen: &[Candidate]) -> sqlx::Result<Vec<Claim>> {
        let (lost, mine) = chosen.split_at(self.rivals.min(chosen.len()));
        self.rivals = 0;
        for candidate in lost.iter().chain(mine) {
            let item = &self.items[&candidate.id];
            assert!(item.status == Status::Queued && item.place.run_at <= self.now && !self.held(&item.lane));
            self.change(candidate.id, |item| item.status = Status::Running);
        }
        Ok(mine.iter().map(claimed).collect())
    }
}

fn claimed(candidate: &Candidate) -> Claim {
    let time = OffsetDateTime::UNIX_EPOCH;
    Claim {
        item: WorkItem {
            id: ItemId(candidate.id),
            kind: candidate.kind.clone(),
            payload: Json::parse("{}").unwrap(),
            dedup_key: None,
            scope: candidate.scope.clone(),
            priority: 0,
            run_at: time,
            status: Status::Running,
            attempt: 1,
            stalls: 0,
            failures: 0,
            interruptions: 0,
            progress: None,
            result: None,
            error: None,
            log_tail: None,
            reason: None,
            host: None,
            handler_digest: None,
            parent_id: None,
            lease_expires_at: None,
            cancel_requested_at: None,
            created_at: time,
            updated_at: time,
            started_at: None,
            finished_at: None,
        },
    }
}

fn request(slots: [u32; 3], limit: u32) -> ClaimRequest {
    let kinds = KINDS.iter().zip(slots).filter(|(_, slots)| *slots > 0);
    let kinds =
        kinds.map(|(kind, slots)| KindSlots { kind: (*kind).to_owned(), slots, handler_digest: "d".to_owned() });
    ClaimRequest {
        host: "h".to_owned(),
        kinds: kinds.collect(),
        scopes: None,
        limit,
        lease: Duration::ZERO,
        last_chances: LastChances::default(),
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn ids(claims: &[Claim]) -> Vec<i64> {
    claims.iter().map(|claim| claim.item.id.0).collect()
}

fn step() -> impl Strategy<Value = Step> {
    let (any, priority, time) = (|| any::<usize>(), || -1..3_i32, || -5..20_i64);
    prop_oneof![
        8 => (0..3_usize, 0..4_usize, priority(), time()).prop_map(|(k, s, p, t)| Step::Enqueue(k, s, p, t)),
        2 => any().prop_map(Step::Release),
        3 => any().prop_map(Step::Finish),
        2 => (any(), priority(), time()).prop_map(|(n, p, t)| Step::Move(n, p, t)),
        1 => any().prop_map(Step::Cancel),
        1 => (0..3_usize).prop_map(Step::Pause),
        1 => (0..3_usize).prop_map(Step::Resume),
        2 => (1..9_i64).prop_map(Step::Wait),
        6 => (proptest::array::uniform3(0..4_u32), 0..6_u32, 0..3_usize).prop_map(|(s, n, r)| Step::Claim(s, n, r)),
        2 => Just(Step::Rival),
    ]
}

impl Memory {
    fn step(&mut self, step: &Step) {
        match *step {
            Step::Enqueue(kind, scope, priority, from_now) => {
                let id = i64::try_from(self.items.len()).unwrap() + 1;
                let scope = (scope > 0).then(|| SCOPES[scope].to_owned());
                let lane = Lane { scope, kind: KINDS[kind].to_owned(), priority };
                let place = Place { run_at: self.now + from_now, id };
                self.items.insert(id, Item { lane, place, status: Status::Queued, changed: 0 });
                self.change(id, |_| {});
            }
            Step::Release(n) => self.nth(Status::Running, n).into_iter().for_each(|id| {
                self.change(id, |item| item.status = Status::Queued);
            }),
            Step::Finish(n) => self.nth(Status::Running, n).into_iter().for_each(|id| {
                self.change(id, |item| item.status = Status::Succeeded);
            }),
            Step::Cancel(n) => self.nth(Status::Queued, n).into_iter().for_each(|id| {
                self.change(id, |item| item.status = Status::Cancelled);
            }),
            Step::Move(n, priority, from_now) => self.nth(Status::Queued, n).into_iter().for_each(|id| {
                let now = self.now;
                self.change(id, |item| (item.lane.priority, item.place.run_at) = (priority, now + from_now));
            }),
            Step::Pause(kind) => drop(self.paused.insert(KINDS[kind].to_owned())),
            Step::Resume(kind) => drop(self.paused.remove(KINDS[kind])),
            Step::Wait(time) => self.now += time,
            Step::Claim(..) => {}
            Step::Rival => {
                if let Some(&id) = self.expected(&request([1, 1, 1], 1)).first() {
                    self.change(id, |item| item.status = Status::Running);
                }
            }
        }
    }
}

proptest! {
    /// What a claim remembers never changes what it takes.
    #[test]
    fn a_claim_takes_what_one_that_looks_at_everything_takes(steps in proptest::collection::vec(step(), 1..80)) {
        block_on(async {
            let mut memory = Memory::default();
            let mut known = None;
            for step in &steps {
                let Step::Claim(slots, limit, rivals) = *step else {
                    memory.step(step);
                    continue;
                };
                let (request, mut claims) = (request(slots, limit), Vec::new());
                memory.rivals = rivals;
                let expected = memory.clone().left_by_rivals(&request);
                known = claim(&mut memory, known, &request, &mut claims).await.unwrap();
                memory.rivals = 0;
                let mut claimed = ids(&claims);
                claimed.sort_by_key(|id| (Reverse(memory.items[id].lane.priority), memory.items[id].place));
                assert_eq!(claimed, expected, "{steps:?}");
            }
        });
    }
}

#[test]
fn a_claim_visits_no_more_for_what_waits_behind_or_has_gone() {
    block_on(async {
        let visits = |backlog: usize| async move {
            let mut memory = Memory { now: 100, ..Memory::default() };
            for n in 0..backlog {
                // Of a busy scope, of the far future in front, of scopes that wait further back.
                memory.step(&Step::Enqueue(0, 1, 2, -90));
                memory.step(&Step::Enqueue(0, 0, 3, 900));
                memory.step(&Step::Enqueue(0, 0, 1, -50 + i64::try_from(n % 10).unwrap()));
            }
            memory.step(&Step::Rival);
            let (mut known, request) = (None, request([2, 0, 0], 2));
            for _ in 0..5 {
                let mut claims = Vec::new();
                known = claim(&mut memory, known, &request, &mut claims).await.unwrap();
                assert_eq!(claims.len(), 2);
                claims.iter().for_each(|claim| memory.change(claim.item.id.0, |item| item.status = Status::Succeeded));
            }
            assert_eq!(memory.surveys, 1, "what the first claim learnt serves the others");
            memory.visited
        };
        assert_eq!(visits(40).await, visits(400).await);
    });
}

#[test]
fn what_a_claim_has_learnt_is_for_one_claim_at_a_time() {
    let hint = Hint::default();
    assert!(hint.take().is_none());
    let survey = Survey { mark: 7, now: 0, lanes: Vec::new() };
    hint.put(Some(Frontier::new(survey, Vec::new(), None, std::time::Instant::now())));
    assert_eq!(hint.take().map(|frontier: Frontier<i64>| frontier.mark), Some(7));
    assert!(hint.take().is_none());
}
