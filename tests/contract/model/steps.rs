//! What random sequences are made of.

use std::time::Duration;

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::Index;
use workhost_queue::{NewItem, Outcome};

use super::world::HOUR;
use crate::store::{json, new};

pub(super) const HOSTS: usize = 3;
pub(super) const KINDS: [&str; 3] = ["a", "b", "c"];
pub(super) const SCOPES: [&str; 2] = ["x", "y"];
/// The first is also the key of the schedule of the first kind.
pub(super) const KEYS: [&str; 2] = ["a", "k"];

/// One call of a verb by one of the hosts, or a row moved back in time. What it is about is drawn from what exists
/// when it is its turn, so that any part of a sequence is a sequence too.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Enqueue {
        host: usize,
        items: Vec<Spec>,
    },
    EnqueueDue {
        host: usize,
        kinds: Vec<usize>,
    },
    Claim {
        host: usize,
        slots: [u32; 3],
        scopes: Option<[bool; 2]>,
        limit: u32,
    },
    Heartbeat {
        host: usize,
        beats: Vec<(Pick, Option<u8>)>,
    },
    Finish {
        host: usize,
        ends: Vec<(Pick, End, Option<u8>)>,
    },
    Recover {
        host: usize,
        max_stalls: u32,
        limit: u32,
    },
    Cancel {
        host: usize,
        item: Index,
    },
    DeleteFinished {
        host: usize,
        fence: Option<Pick>,
        limit: u32,
    },
    /// A running item's lease runs out.
    Expire(Index),
    /// A waiting item becomes due.
    BecomeDue(Index),
    /// A finished item becomes old.
    GrowOld(Index),
    /// A host's process ends, and another takes its name.
    Restart {
        host: usize,
    },
}

/// An item to enqueue.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    pub(super) kind: usize,
    pub(super) key: Option<usize>,
    pub(super) scope: Option<usize>,
    pub(super) priority: i32,
    pub(super) delayed: bool,
}

/// Whose write it is.
#[derive(Clone, Debug)]
pub(super) enum Pick {
    /// An attempt that holds its item.
    Holder(Index),
    /// Any attempt that ever was.
    Ever(Index),
    /// An attempt that is still to come.
    ToCome(Index),
}

/// How an attempt ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Succeeded,
    Failed,
    Cancelled,
    Released,
    RetryNow,
    RetryLater,
}

pub(super) fn sequences() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..70)
}

fn step() -> impl Strategy<Value = Step> {
    let host = || 0..HOSTS;
    let index = any::<Index>;
    let note = || weighted(0.3, 0..3_u8);
    prop_oneof![
        5 => (host(), vec(spec(), 0..4)).prop_map(|(host, items)| Step::Enqueue { host, items }),
        2 => (host(), vec(0..KINDS.len(), 0..3)).prop_map(|(host, kinds)| Step::EnqueueDue { host, kinds }),
        6 => (host(), [0..3_u32, 0..3, 0..3], weighted(0.3, any::<[bool; 2]>()), 0..5_u32)
            .prop_map(|(host, slots, scopes, limit)| Step::Claim { host, slots, scopes, limit }),
        3 => (host(), vec((pick(), note()), 0..4)).prop_map(|(host, beats)| Step::Heartbeat { host, beats }),
        6 => (host(), vec((pick(), end(), note()), 0..4)).prop_map(|(host, ends)| Step::Finish { host, ends }),
        4 => (host(), 1..4_u32, 0..4_u32)
            .prop_map(|(host, max_stalls, limit)| Step::Recover { host, max_stalls, limit }),
        3 => (host(), index()).prop_map(|(host, item)| Step::Cancel { host, item }),
        1 => (host(), weighted(0.5, pick()), 0..4_u32)
            .prop_map(|(host, fence, limit)| Step::DeleteFinished { host, fence, limit }),
        4 => index().prop_map(Step::Expire),
        2 => index().prop_map(Step::BecomeDue),
        3 => index().prop_map(Step::GrowOld),
        1 => host().prop_map(|host| Step::Restart { host }),
    ]
}

fn spec() -> impl Strategy<Value = Spec> {
    (0..KINDS.len(), weighted(0.6, 0..KEYS.len()), weighted(0.6, 0..SCOPES.len()), -1..2, prop::bool::weighted(0.2))
        .prop_map(|(kind, key, scope, priority, delayed)| Spec { kind, key, scope, priority, delayed })
}

fn pick() -> impl Strategy<Value = Pick> {
    prop_oneof![
        6 => any::<Index>().prop_map(Pick::Holder),
        3 => any::<Index>().prop_map(Pick::Ever),
        1 => any::<Index>().prop_map(Pick::ToCome),
    ]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        Just(End::Succeeded),
        Just(End::Failed),
        Just(End::Cancelled),
        Just(End::Released),
        Just(End::RetryNow),
        Just(End::RetryLater),
    ]
}

impl Spec {
    pub(super) fn item(&self) -> NewItem {
        NewItem {
            dedup_key: self.key.map(|key| KEYS[key].to_owned()),
            scope: self.scope.map(|scope| SCOPES[scope].to_owned()),
            priority: self.priority,
            delay: if self.delayed { HOUR } else { Duration::ZERO },
            ..new(KINDS[self.kind])
        }
    }
}

impl End {
    pub(super) fn outcome(self) -> Outcome {
        let error = "broke".to_owned();
        match self {
            End::Succeeded => Outcome::Succeeded(Some(json("[1]"))),
            End::Failed => Outcome::Failed { error },
            End::Cancelled => Outcome::Cancelled(None),
            End::Released => Outcome::Released,
            End::RetryNow => Outcome::Retry { error, delay: Duration::ZERO },
            End::RetryLater => Outcome::Retry { error, delay: HOUR },
        }
    }
}
