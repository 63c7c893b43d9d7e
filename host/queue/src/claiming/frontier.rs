//! What a host knows of where the queued items begin.
//!
//! Finding the first queued item in an index is cheap until many entries before it are dead: items that were claimed
//! stay in the index as long as any transaction is open that could still see them, and a plain claim visits all
//! of them each time. So a host remembers, for each lane, a place before which nothing is queued, and starts there.
//!
//! The place is exact, not a guess. It holds for the moment of a [mark](Frontier::mark), and whatever is queued
//! later (enqueued, released, retried, recovered, moved by hand) carries a newer change than that mark. Each look
//! reads those changes too, and they lower the places again. An item that becomes due lies behind the place of its lane.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

use super::Key;
use crate::ClaimRequest;

/// How long a frontier is used before it is made anew. A store that was put back from a copy, or written by hand past
/// its triggers, is seen right after this time at the latest.
const LIFETIME: Duration = Duration::from_secs(5);

/// A survey of many lanes takes its time; it is repeated so rarely that it takes at most a fiftieth of it.
const RESTS: u32 = 50;

/// Queued items of one scope (or of none), one kind and one priority, by run_at and id.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Lane {
    pub(crate) scope: Option<String>,
    pub(crate) kind: String,
    pub(crate) priority: i32,
}

/// A place in a lane. The unit of time is the store's own: microseconds or milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) run_at: i64,
    pub(crate) id: i64,
}

/// All lanes of a store that have queued items, and the place where each begins.
#[derive(Debug)]
pub(crate) struct Survey<M> {
    pub(crate) mark: M,
    /// The store's clock, as [`Place::run_at`].
    pub(crate) now: i64,
    pub(crate) lanes: Vec<(Lane, Place)>,
}

/// The lanes of some kinds and scopes, and for each a place before which nothing was queued at the mark.
#[derive(Debug)]
pub(crate) struct Frontier<M> {
    /// The moment of the newest look, as the store tells moments apart.
    pub(crate) mark: M,
    /// The store's clock at that moment.
    pub(crate) now: i64,
    /// The kinds whose lanes are known, in order.
    pub(crate) kinds: Vec<String>,
    /// The scopes whose lanes are known, beside the lanes without one; `None` is all.
    pub(crate) scopes: Option<Vec<String>>,
    expires: Instant,
    places: HashMap<Lane, Place>,
    /// The same by kind, priority and place.
    order: BTreeMap<String, BTreeMap<Reverse<i32>, Band>>,
}

/// The lanes of one kind and priority: where each begins, and its scope.
type Band = BTreeSet<(Place, Option<String>)>;

impl<M> Frontier<M> {
    /// What a survey of these kinds and scopes found, begun at `asked`.
    pub(crate) fn new(survey: Survey<M>, kinds: Vec<String>, scopes: Option<Vec<String>>, asked: Instant) -> Self {
        let expires = Instant::now() + LIFETIME.max(asked.elapsed() * RESTS);
        let Survey { mark, now, lanes } = survey;
        let mut frontier =
            Frontier { mark, now, kinds, scopes, expires, places: HashMap::new(), order: BTreeMap::new() };
        for (lane, place) in lanes {
            frontier.lower(&lane, place);
        }
        frontier
    }

    /// Whether this knows the lanes that a request is about, and is not too old.
    pub(crate) fn serves(&self, request: &ClaimRequest) -> bool {
        Instant::now() < self.expires
            && self.scopes == request.scopes
            && request.kinds.iter().all(|kind| self.kinds.binary_search(&kind.kind).is_ok())
    }

    /// The place where a lane begins, if it has queued items.
    pub(crate) fn place(&self, lane: &Lane) -> Option<Place> {
        self.places.get(lane).copied()
    }

    /// Something was queued at this place. Answers whether nothing was known to be queued so early.
    pub(crate) fn lower(&mut self, lane: &Lane, place: Place) -> bool {
        let lower = self.place(lane).is_none_or(|known| place < known);
        if lower {
            self.begin_at(lane, Some(place));
        }
        lower
    }

    /// A lane begins at this place, or has no queued item at all.
    pub(crate) fn begin_at(&mut self, lane: &Lane, place: Option<Place>) {
        let before = match place {
            Some(place) => self.places.insert(lane.clone(), place),
            None => self.places.remove(lane),
        };
        if before == place {
            return;
        }
        let bands = self.order.entry(lane.kind.clone()).or_default();
        let band = bands.entry(Reverse(lane.priority)).or_default();
        if let Some(before) = before {
            band.remove(&(before, lane.scope.clone()));
        }
        if let Some(place) = place {
            band.insert((place, lane.scope.clone()));
        }
        if band.is_empty() {
            bands.remove(&Reverse(lane.priority));
        }
    }

    /// The first `n` lanes of these kinds, in the order of claims, that may hold a due item and are not among `probed`.
    pub(crate) fn first(&self, kinds: &[&str], probed: &HashSet<Lane>, n: usize) -> Vec<(Lane, Key)> {
        let due = |kind| {
            let bands = self.order.get_key_value(kind).into_iter();
            let lanes =
                bands.flat_map(|(kind, bands)| bands.iter().map(move |(priority, band)| (kind, priority, band)));
            lanes.flat_map(|(kind, &Reverse(priority), band)| {
                let due = band.iter().take_while(|(place, _)| place.run_at <= self.now);
                due.map(move |(place, scope)| {
                    let lane = Lane { scope: scope.clone(), kind: kind.clone(), priority };
                    (lane, (Reverse(priority), *place))
                })
            })
        };
        let unprobed = |kind| due(kind).filter(|(lane, _)| !probed.contains(lane)).peekable();
        let mut kinds: Vec<_> = kinds.iter().map(|&kind| unprobed(kind)).collect();
        let mut first = Vec::new();
        while first.len() < n {
            let heads = kinds.iter_mut().enumerate().filter_map(|(i, lanes)| lanes.peek().map(|(_, key)| (*key, i)));
            let Some((_, i)) = heads.min() else { break };
            first.extend(kinds[i].next());
        }
        first
    }
}

#[cfg(test)]
mod tests;
