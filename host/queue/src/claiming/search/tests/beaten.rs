//! Claims that others are faster than, and how often a claim looks.

use super::*;

/// A queue in which another host takes first whatever a claim tries, a number of times.
struct Contested {
    memory: Memory,
    beaten: u32,
    looks: u32,
}

impl Contested {
    /// Items of one kind, each in this scope of its own or without a scope.
    fn new(items: usize, scoped: bool, beaten: u32) -> Contested {
        let mut memory = Memory { now: 100, ..Memory::default() };
        for n in 1..=i64::try_from(items).unwrap() {
            memory.step(&Step::Enqueue(0, 0, 0, -50));
            memory.items.get_mut(&n).unwrap().lane.scope = scoped.then(|| n.to_string());
        }
        Contested { memory, beaten, looks: 0 }
    }

    fn claim(&mut self, limit: u32) -> Vec<i64> {
        let mut claims = Vec::new();
        block_on(claim(self, None, &request([limit, 0, 0], limit), &mut claims)).unwrap();
        ids(&claims)
    }
}

impl Store for Contested {
    type Mark = i64;

    async fn survey(&mut self, kinds: &[String], scopes: Option<&[String]>) -> sqlx::Result<Survey<i64>> {
        self.memory.survey(kinds, scopes).await
    }

    async fn look(&mut self, frontier: &Frontier<i64>, lanes: &[(Lane, Place)], most: u32) -> sqlx::Result<Sight<i64>> {
        self.looks += 1;
        self.memory.look(frontier, lanes, most).await
    }

    async fn take(&mut self, chosen: &[Candidate]) -> sqlx::Result<Vec<Claim>> {
        if self.beaten > 0 {
            self.beaten -= 1;
            self.memory.rivals = chosen.len();
        }
        self.memory.take(chosen).await
    }
}

#[test]
fn a_claim_looks_again_behind_what_others_took() {
    let shown = 1 + SPARE;
    let mut queue = Contested::new(40, false, shown);
    assert_eq!((queue.claim(1), queue.looks), (vec![i64::from(shown) + 1], 2));
}

#[test]
fn a_claim_that_others_are_always_faster_than_ends() {
    let mut queue = Contested::new(100, false, u32::MAX);
    assert_eq!((queue.claim(1), queue.looks), (vec![], BEGINNINGS));
}

#[test]
fn a_claim_that_found_all_there_is_looks_no_more() {
    let mut queue = Contested::new(1, false, 0);
    assert_eq!((queue.claim(5), queue.looks), (vec![1], 1));
}

#[test]
fn a_claim_that_has_what_it_wants_looks_no_more() {
    let mut queue = Contested::new(40, true, 0);
    assert_eq!((queue.claim(1), queue.looks), (vec![1], 1));
}

#[test]
fn a_claim_for_nothing_asks_the_store_nothing() {
    let mut queue = Contested::new(1, false, 0);
    assert_eq!((queue.claim(0), queue.looks, queue.memory.surveys), (vec![], 0, 0));
}
