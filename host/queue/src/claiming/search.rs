//! One claim's way through the lanes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use super::choice::{Candidate, Choice};
use super::{Frontier, Key, Lane, Place, SPARE};
use crate::{Claim, ClaimRequest};

/// How often a claim begins anew because other hosts took what it had found.
const BEGINNINGS: u32 = 3;

/// How often a claim looks. Each look goes into twice as many lanes as the one before.
const LOOKS: u32 = 32;

/// Lanes in one look at most: their names travel to the store.
const LANES: usize = 1024;

/// What a look found, all at one moment.
#[derive(Debug)]
pub(crate) struct Sight<M> {
    pub(crate) mark: M,
    /// The store's clock, as [`Place::run_at`].
    pub(crate) now: i64,
    /// What each lane holds from its place on, in the order in which the lanes were given.
    pub(crate) lanes: Vec<Found>,
    /// The first item of each lane in which something was queued since the mark before.
    pub(crate) arrivals: Vec<Arrival>,
}

/// What a lane holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Its first items, in order, also those that are not due.
    pub(crate) places: Vec<Place>,
    /// Whether its scope is busy, or somebody has paused its scope or kind.
    pub(crate) held: bool,
}

/// The first of the items that were queued in a lane since a mark.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) lane: Lane,
    pub(crate) found: Found,
}

/// Which lanes a claim has seen, and what it found in them.
#[derive(Debug)]
pub(super) struct Search<'r> {
    kinds: Vec<&'r str>,
    looks: u32,
    beginnings: u32,
    /// The lanes that were looked into, and into which nothing earlier came since.
    probed: HashSet<Lane>,
    /// Items that may be tried once nothing earlier can turn up.
    found: BTreeMap<Key, Lane>,
    /// Items whose turn has come but for which there is no room, in the order of claims.
    waiting: Vec<Candidate>,
    /// Items to take.
    chosen: Vec<Candidate>,
    choice: Choice,
    /// Scopes whose head has had its turn: there is no other of theirs in this claim.
    scopes: HashSet<String>,
    /// Items without a scope that have had theirs: a lane that is looked into again shows them again.
    ids: HashSet<i64>,
    /// Whether others took an item that was tried.
    lost: bool,
}

impl<'r> Search<'r> {
    pub(super) fn new(request: &'r ClaimRequest) -> Self {
        Search {
            kinds: request.kinds.iter().map(|kind| kind.kind.as_str()).collect(),
            looks: 0,
            beginnings: 1,
            probed: HashSet::new(),
            found: BTreeMap::new(),
            waiting: Vec::new(),
            chosen: Vec::new(),
            choice: Choice::new(request),
            scopes: HashSet::new(),
            ids: HashSet::new(),
            lost: false,
        }
    }

    /// Whether the request is for anything at all.
    pub(super) fn has_room(&self) -> bool {
        self.choice.room() > 0
    }

    /// The lanes to look into next; `None` when there is nothing more to choose. The first look may go into none at all: it tells
    /// what was queued meanwhile.
    pub(super) fn lanes<M>(&mut self, frontier: &Frontier<M>) -> Option<Vec<(Lane, Place)>> {
        if self.looks == LOOKS || self.choice.room() == 0 {
            return None;
        }
        let n = (self.most() as usize).checked_shl(self.looks).map_or(LANES, |n| n.min(LANES));
        let mut lanes = frontier.first(&self.kinds, &self.probed, n);
        if lanes.is_empty() && self.lost && self.beginnings < BEGINNINGS {
            // There may be more behind what others took.
            self.beginnings += 1;
            self.lost = false;
            self.probed.clear();
            lanes = frontier.first(&self.kinds, &self.probed, n);
        }
        if lanes.is_empty() && self.looks > 0 {
            return None;
        }
        self.looks += 1;
        Some(lanes.into_iter().map(|(lane, (_, place))| (lane, place)).collect())
    }

    /// How many items of a lane without a scope could be of use.
    pub(super) fn most(&self) -> u32 {
        self.choice.room().saturating_add(SPARE)
    }

    /// Notes what a look into these lanes found.
    pub(super) fn learn<M>(&mut self, frontier: &mut Frontier<M>, lanes: &[(Lane, Place)], sight: Sight<M>) {
        frontier.mark = sight.mark;
        frontier.now = sight.now;
        for ((lane, _), found) in lanes.iter().zip(sight.lanes) {
            frontier.begin_at(lane, found.places.first().copied());
            self.keep(frontier.now, lane, &found);
            self.probed.insert(lane.clone());
        }
        for Arrival { lane, found } in sight.arrivals {
            let Some(&first) = found.places.first() else { continue };
            if frontier.lower(&lane, first) {
                // It is the first of its lane, but not the only one perhaps.
                self.probed.remove(&lane);
                if self.kinds.contains(&lane.kind.as_str()) {
                    self.keep(frontier.now, &lane, &found);
                }
            }
        }
    }

    fn keep(&mut self, now: i64, lane: &Lane, found: &Found) {
        if !found.held {
            let due = found.places.iter().take_while(|place| place.run_at <= now);
            self.found.extend(due.map(|place| ((Reverse(lane.priority), *place), lane.clone())));
        }
    }

    /// Chooses as many items as there is room for, of those before which nothing can turn up any more.
    pub(super) fn choose<M>(&mut self, frontier: &Frontier<M>) {
        let bound = frontier.first(&self.kinds, &self.probed, 1).first().map(|(_, key)| *key);
        while let Some(first) = self.found.first_entry()
            && bound.is_none_or(|bound| *first.key() <= bound)
        {
            let ((_, place), lane) = first.remove_entry();
            let new = match &lane.scope {
                Some(scope) => self.scopes.insert(scope.clone()),
                None => self.ids.insert(place.id),
            };
            if new {
                self.waiting.push(Candidate { id: place.id, kind: lane.kind, scope: lane.scope });
            }
        }
        self.chosen.extend(self.choice.next(&mut self.waiting));
    }

    /// The items to take now. None of them is chosen again.
    pub(super) fn chosen(&mut self) -> Vec<Candidate> {
        std::mem::take(&mut self.chosen)
    }

    /// Notes which of the chosen items were taken. Answers whether all were.
    pub(super) fn tried(&mut self, chosen: &[Candidate], taken: &[Claim]) -> bool {
        let taken: HashSet<i64> = taken.iter().map(|claim| claim.item.id.0).collect();
        let lost = chosen.iter().filter(|candidate| !taken.contains(&candidate.id));
        lost.for_each(|candidate| self.choice.free(candidate));
        let complete = taken.len() == chosen.len();
        self.lost |= !complete;
        complete
    }
}

#[cfg(test)]
mod tests;
