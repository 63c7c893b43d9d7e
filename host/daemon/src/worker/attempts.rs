//! The attempts that run on this host, as the heartbeat sees them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tracing::warn;
use workhost_queue::{Beat, Fence, ItemId, Json, Pulse};
use workhost_runtime::Control;

/// What the heartbeats know of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Vital {
    /// When the last answered heartbeat was sent; before any, when the claim was sent.
    pub(super) answered: Instant,
    /// Whether somebody wants the item cancelled.
    pub(super) cancel_requested: bool,
    /// Whether a fenced write said that another has the item.
    pub(super) lost: bool,
}

/// All running attempts, by fence.
pub(super) struct Attempts {
    /// How long a claim lasts.
    lease: Duration,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    running: HashMap<Fence, Entry>,
    /// The newest attempt of each item that this host gave up without a word to the store. For the store it runs until
    /// somebody recovers it, whenever that is.
    given_up: HashMap<ItemId, u32>,
}

struct Entry {
    control: Arc<Control>,
    vital: watch::Sender<Vital>,
    /// The revision of the newest progress snapshot that the store has.
    stored: u64,
}

/// An attempt's place among the running ones; given up when dropped.
pub(super) struct Registration {
    attempts: Arc<Attempts>,
    fence: Fence,
}

impl Attempts {
    pub(super) fn new(lease: Duration) -> Arc<Attempts> {
        Arc::new(Attempts { lease, book: Mutex::default() })
    }

    /// How long an attempt may go on after the sending of its last answered heartbeat.
    pub(super) fn self_stop(&self) -> Duration {
        self.lease / 2
    }

    /// From now on this attempt is reported alive, and hears what the store answers.
    pub(super) fn register(
        self: &Arc<Self>,
        fence: Fence,
        control: Arc<Control>,
        claim_sent: Instant,
    ) -> (Registration, watch::Receiver<Vital>) {
        let (vital, receiver) = watch::channel(Vital { answered: claim_sent, cancel_requested: false, lost: false });
        control.run_until(claim_sent + self.self_stop());
        self.lock().running.insert(fence, Entry { control, vital, stored: 0 });
        (Registration { attempts: self.clone(), fence }, receiver)
    }

    /// One beat for each, with the revision of the progress it carries.
    pub(super) fn beats(&self) -> (Vec<Beat>, Vec<u64>) {
        let book = self.lock();
        book.running
            .iter()
            .map(|(fence, entry)| {
                let (revision, progress) = entry.unstored(*fence);
                (Beat { fence: *fence, progress }, revision)
            })
            .unzip()
    }

    /// Hands out what the store answered to a beat sent at `sent` with progress of that revision.
    pub(super) fn answered(&self, fence: Fence, revision: u64, pulse: Pulse, sent: Instant) {
        let mut book = self.lock();
        // It may have ended meanwhile.
        let Some(entry) = book.running.get_mut(&fence) else { return };
        let (lost, cancel_requested) = match pulse {
            Pulse::Busy => return,
            Pulse::Lost => (true, false),
            Pulse::Alive => (false, false),
            Pulse::CancelRequested => (false, true),
        };
        if !lost {
            entry.stored = entry.stored.max(revision);
            entry.control.run_until(sent + self.self_stop());
        }
        entry.vital.send_modify(|vital| {
            vital.lost |= lost;
            vital.cancel_requested |= cancel_requested;
            if !lost {
                vital.answered = vital.answered.max(sent);
            }
        });
    }

    /// All attempts that the store may take for running on this host: those that do, and those that were given up.
    pub(super) fn known(&self) -> Vec<Fence> {
        let book = self.lock();
        let given_up = book.given_up.iter().map(|(id, attempt)| Fence { id: *id, attempt: *attempt });
        book.running.keys().copied().chain(given_up).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    /// The newest snapshot that the store does not have yet.
    fn unstored(&self, fence: Fence) -> (u64, Option<Json>) {
        match self.control.progress() {
            Some((revision, text)) if revision > self.stored => match Json::storable(&text) {
                Ok(json) => (revision, Some(json)),
                Err(error) => {
                    warn!(item = %fence.id, attempt = fence.attempt, %error, "the handler reported progress that is no JSON: ignored");
                    (revision, None)
                }
            },
            _ => (self.stored, None),
        }
    }
}

impl Registration {
    pub(super) fn fence(&self) -> Fence {
        self.fence
    }

    /// Nothing more will be written of this attempt; its lease is left to run out.
    pub(super) fn give_up(&self) {
        self.attempts.lock().given_up.insert(self.fence.id, self.fence.attempt);
    }

    /// The newest snapshot that the store does not have yet, for the attempt's last write.
    pub(super) fn unstored_progress(&self) -> Option<Json> {
        self.attempts.lock().running.get(&self.fence).and_then(|entry| entry.unstored(self.fence).1)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.attempts.lock().running.remove(&self.fence);
    }
}
