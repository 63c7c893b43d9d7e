//! What sequences are made of.

use std::time::Duration;

use proptest::sample::Index;
use workhost_queue::{NewItem, Outcome, Pausable, Periodic};

use super::world::HOUR;
use crate::store::{json, new};

pub(super) const HOSTS: usize = 3;
pub(super) const KINDS: [&str; 3] = ["a", "b", "c"];
pub(super) const SCOPES: [&str; 2] = ["x", "y"];
/// The first two are also the keys of schedules.
pub(super) const KEYS: [&str; 3] = ["a", "a/x", "k"];
pub(super) const PEOPLE: [&str; 2] = ["ann", "bob"];

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
        schedules: Vec<Schedule>,
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
    DeleteFinished {
        host: usize,
        fence: Option<Pick>,
        limit: u32,
    },
    /// What a person or program does.
    Person {
        host: usize,
        by: Option<usize>,
        act: Act,
    },
    /// A reader follows the changes by one page; `anew` without its cursor.
    Follow {
        host: usize,
        limit: u32,
        anew: bool,
    },
    /// Somebody looks at items.
    Look {
        host: usize,
        look: Look,
    },
    /// A host reports itself.
    Seen {
        host: usize,
        kinds: usize,
        slots: u32,
    },
    /// A row's time is moved back.
    Age(Aged, Index),
    /// A host's process ends, and another takes its name.
    Restart {
        host: usize,
    },
}

/// What people do.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Cancel {
        item: Index,
        /// One that runs, if any does.
        running: bool,
    },
    Pause(Pausable),
    /// One of what is paused, or something that is not.
    Resume(Index),
    AddToken {
        name: usize,
        role: usize,
        secret: u8,
    },
    RevokeToken(Index),
    ShowToken {
        secret: u8,
    },
    /// What no verb but the audit log knows.
    Reload,
}

/// Which row's time is moved back, and what that means.
#[derive(Clone, Copy, Debug)]
pub(super) enum Aged {
    /// A running item's lease runs out.
    Lease,
    /// A waiting item becomes due.
    RunAt,
    /// A finished item becomes old.
    FinishedAt,
    /// A host was not seen for more than a day.
    HostSeen,
    /// What somebody did is long ago.
    Deed,
    /// A token was last shown more than a minute ago.
    TokenUse,
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

/// A kind that runs again and again, in a scope or without.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    pub(super) kind: usize,
    pub(super) scope: Option<usize>,
}

/// Which items, deeds and attempts to look at.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) statuses: [bool; 5],
    pub(super) kind: Option<usize>,
    pub(super) scope: Option<usize>,
    pub(super) item: Option<Index>,
    pub(super) before: Option<Index>,
    pub(super) limit: u32,
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

impl Schedule {
    pub(super) fn periodic(self) -> Periodic {
        let scope = self.scope.map(|scope| SCOPES[scope].to_owned());
        Periodic {
            kind: KINDS[self.kind].to_owned(),
            scope,
            payload: json("{}"),
            schedule: workhost_queue::Schedule::Every(HOUR),
        }
    }
}

impl End {
    pub(super) fn outcome(self) -> Outcome {
        let error = "broke".to_owned();
        match self {
            End::Succeeded => Outcome::Succeeded(Some(json("[1]"))),
            End::Failed => Outcome::Failed { error },
            End::Cancelled => Outcome::Cancelled(Some(json("[2]"))),
            End::Released => Outcome::Released,
            End::RetryNow => Outcome::Retry { error, delay: Duration::ZERO },
            End::RetryLater => Outcome::Retry { error, delay: HOUR },
        }
    }
}
