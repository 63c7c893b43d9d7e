//! Which candidates a claim takes next.

use std::collections::HashMap;

use crate::ClaimRequest;

/// An item that a claim may take, as it was seen when the claim looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) id: i64,
    pub(crate) kind: String,
    pub(crate) scope: Option<String>,
}

/// The slots that a claim still has.
#[derive(Debug)]
pub(crate) struct Choice {
    left: u32,
    slots: HashMap<String, u32>,
}

impl Choice {
    pub(crate) fn new(request: &ClaimRequest) -> Choice {
        let slots = request.kinds.iter().map(|kind| (kind.kind.clone(), kind.slots)).collect();
        Choice { left: request.limit, slots }
    }

    /// How many more may be chosen.
    pub(crate) fn room(&self) -> u32 {
        self.left.min(self.slots.values().fold(0, |all, free| all.saturating_add(*free)))
    }

    /// Moves the candidates to take out of `waiting`, whose order is the order of claims, as many as there is room for,
    /// in all and of each kind, and keeps a slot for each.
    pub(crate) fn next(&mut self, waiting: &mut Vec<Candidate>) -> Vec<Candidate> {
        let fits = |candidate: &mut Candidate| {
            let free = self.slots.entry(candidate.kind.clone()).or_default();
            let fits = self.left > 0 && *free > 0;
            if fits {
                self.left -= 1;
                *free -= 1;
            }
            fits
        };
        waiting.extract_if(.., fits).collect()
    }

    /// Frees the slot of a chosen candidate that others took.
    pub(crate) fn free(&mut self, lost: &Candidate) {
        self.left += 1;
        *self.slots.entry(lost.kind.clone()).or_default() += 1;
    }
}

/// Sorts claims into the order in which they were due.
pub(crate) fn sort(claims: &mut [crate::Claim]) {
    claims.sort_by_key(|claim| (std::cmp::Reverse(claim.item.priority), claim.item.run_at, claim.item.id));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{KindSlots, LastChances};

    fn request(slots: &[(&str, u32)], limit: u32) -> ClaimRequest {
        let kinds = slots.iter().map(|(kind, slots)| KindSlots {
            kind: (*kind).to_owned(),
            slots: *slots,
            handler_digest: "sha256:0".to_owned(),
        });
        ClaimRequest {
            host: "h".to_owned(),
            kinds: kinds.collect(),
            scopes: None,
            limit,
            lease: Duration::ZERO,
            last_chances: LastChances::default(),
        }
    }

    fn candidates(kinds: &str) -> Vec<Candidate> {
        let one = |(id, kind): (usize, char)| Candidate { id: id as i64, kind: kind.to_string(), scope: None };
        kinds.chars().enumerate().map(one).collect()
    }

    fn ids(candidates: &[Candidate]) -> Vec<i64> {
        candidates.iter().map(|candidate| candidate.id).collect()
    }

    #[test]
    fn a_full_kind_holds_up_no_other() {
        let mut waiting = candidates("aaabab");
        let chosen = Choice::new(&request(&[("a", 1), ("b", 2)], 10)).next(&mut waiting);
        assert_eq!(ids(&chosen), [0, 3, 5]);
        assert_eq!(ids(&waiting), [1, 2, 4]);
    }

    #[test]
    fn the_limit_holds_over_all_kinds() {
        let mut waiting = candidates("abab");
        assert_eq!(ids(&Choice::new(&request(&[("a", 5), ("b", 5)], 3)).next(&mut waiting)), [0, 1, 2]);
    }

    #[test]
    fn what_was_chosen_keeps_its_slot_until_others_took_it() {
        let mut waiting = candidates("abab");
        let mut choice = Choice::new(&request(&[("a", 1), ("b", 5)], 2));
        let chosen = choice.next(&mut waiting);
        assert_eq!(ids(&chosen), [0, 1]);
        assert_eq!((choice.room(), ids(&choice.next(&mut waiting))), (0, vec![]));
        choice.free(&chosen[0]);
        assert_eq!((choice.room(), ids(&choice.next(&mut waiting))), (1, vec![2]));
    }
}
