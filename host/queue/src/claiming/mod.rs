//! Claiming, as both stores do it: which lanes to look into, and which items to try in which order.
//!
//! A claim looks into the lanes that come first, chooses the items that it finds in the order of claims, and looks into
//! more lanes while it has room. Then it takes what it chose, all at once and last: their leases have begun, so whoever
//! asked hears of them at once. Only when others were faster does it go on for the rest. What it learns of where the
//! lanes begin stays for the next claim.

mod choice;
mod frontier;
mod search;

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::{Claim, ClaimRequest};
pub(crate) use choice::{Candidate, sort};
pub(crate) use frontier::{Frontier, Lane, Place, Survey};
use search::Search;
pub(crate) use search::{Arrival, Found, Sight};

/// The order of claims: by priority (higher first), run_at and id.
pub(crate) type Key = (Reverse<i32>, Place);

/// Candidates beyond the free slots, for those that another host takes first.
pub(crate) const SPARE: u32 = 16;

/// What a claim asks of a store.
pub(crate) trait Store {
    /// A moment, such that what was queued since then can be told apart.
    type Mark: Send;

    /// Finds every lane of some kinds that has queued items, in some scopes (`None`: all) or without a scope.
    fn survey(
        &mut self,
        kinds: &[String],
        scopes: Option<&[String]>,
    ) -> impl Future<Output = sqlx::Result<Survey<Self::Mark>>> + Send;

    /// Looks at the first queued items of each lane from its place on, `most` of a lane without a scope, one of a scope;
    /// and, of all lanes that the frontier knows, at what was queued since its mark. All at one moment.
    fn look(
        &mut self,
        frontier: &Frontier<Self::Mark>,
        lanes: &[(Lane, Place)],
        most: u32,
    ) -> impl Future<Output = sqlx::Result<Sight<Self::Mark>>> + Send;

    /// Takes those of the items that are still queued, due, and of a scope that is free.
    fn take(&mut self, chosen: &[Candidate]) -> impl Future<Output = sqlx::Result<Vec<Claim>>> + Send;
}

/// What the claims before have learnt. Two claims at the same time learn apart.
#[derive(Debug)]
pub(crate) struct Hint<M>(Mutex<Option<Frontier<M>>>);

impl<M> Default for Hint<M> {
    fn default() -> Self {
        Hint(Mutex::new(None))
    }
}

impl<M> Hint<M> {
    pub(crate) fn take(&self) -> Option<Frontier<M>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn put(&self, frontier: Option<Frontier<M>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = frontier;
    }
}

/// Takes up to `request.limit` items into `claims`, and answers what it has learnt. What stands in `claims` after an
/// error is taken all the same.
pub(crate) async fn claim<S: Store>(
    store: &mut S,
    known: Option<Frontier<S::Mark>>,
    request: &ClaimRequest,
    claims: &mut Vec<Claim>,
) -> sqlx::Result<Option<Frontier<S::Mark>>> {
    let mut search = Search::new(request);
    if !search.has_room() {
        return Ok(known);
    }
    let mut frontier = match known {
        Some(frontier) if frontier.serves(request) => frontier,
        outdated => survey(store, request, outdated).await?,
    };
    loop {
        // What others left of an earlier look comes first.
        search.choose(&frontier);
        while let Some(lanes) = search.lanes(&frontier) {
            let sight = store.look(&frontier, &lanes, search.most()).await?;
            search.learn(&mut frontier, &lanes, sight);
            search.choose(&frontier);
        }
        let chosen = search.chosen();
        if chosen.is_empty() {
            break;
        }
        let taken = store.take(&chosen).await?;
        let complete = search.tried(&chosen, &taken);
        claims.extend(taken);
        if complete {
            break;
        }
    }
    Ok(Some(frontier))
}

/// Learns all lanes anew, those of kinds that earlier claims were about too: the next one may be again.
async fn survey<S: Store>(
    store: &mut S,
    request: &ClaimRequest,
    outdated: Option<Frontier<S::Mark>>,
) -> sqlx::Result<Frontier<S::Mark>> {
    let asked = Instant::now();
    let mut kinds = outdated.map_or_else(Vec::new, |frontier| frontier.kinds);
    kinds.extend(request.kinds.iter().map(|kind| kind.kind.clone()));
    kinds.sort_unstable();
    kinds.dedup();
    let survey = store.survey(&kinds, request.scopes.as_deref()).await?;
    Ok(Frontier::new(survey, kinds, request.scopes.clone(), asked))
}
