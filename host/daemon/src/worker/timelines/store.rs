//! A store whose answers the test decides.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use time::OffsetDateTime;
use tokio::sync::Notify;
use tokio::time::sleep;
use workhost_queue::{
    Beat, Claim, ClaimRequest, Fence, Finish, HostQueue, HostReport, ItemId, Json, Outcome, Periodic, Pulse,
    QueueError, Recorded, Recovered, Result, Status, WorkItem,
};

use super::diary::Diary;

/// How a verb is answered.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    /// It is applied, and the answer comes after so long.
    After(Duration),
    /// It is refused, and nothing is applied.
    Refused,
    /// Nothing is applied, and no answer comes.
    Never,
    /// It is applied, and instead of an answer comes an error.
    Lost,
    /// It is applied, and no answer comes.
    Swallowed,
    /// The driver breaks.
    Breaks,
}

/// An answer at once.
pub(super) const PROMPT: Answer = Answer::After(Duration::ZERO);

/// The items, and how each verb is answered next; promptly where nothing is planned.
pub(super) struct Store {
    diary: Arc<Diary>,
    wake: Arc<Notify>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    items: BTreeMap<i64, WorkItem>,
    plans: BTreeMap<&'static str, VecDeque<Answer>>,
    /// What the verbs of this name are answered when no plan is left.
    for_ever: BTreeMap<&'static str, Answer>,
    /// Items that somebody else has locked.
    locked: Vec<i64>,
    /// Items whose lease has run out, and what becomes of them.
    expired: Vec<(i64, Status)>,
}

impl Store {
    pub(super) fn new(diary: Arc<Diary>) -> Store {
        Store { diary, wake: Arc::default(), state: Mutex::default() }
    }

    /// So many more items of a kind come in, and hosts are woken.
    pub(super) fn due(&self, kind: &str, count: u32) {
        self.has(kind, count);
        self.wake.notify_one();
    }

    /// So many more items of a kind are due.
    pub(super) fn has(&self, kind: &str, count: u32) {
        let mut state = self.state();
        for _ in 0..count {
            let id = i64::try_from(state.items.len()).unwrap() + 1;
            state.items.insert(id, item(id, kind));
        }
    }

    /// The next calls of this verb are answered so.
    pub(super) fn plan(&self, verb: &'static str, answers: impl IntoIterator<Item = Answer>) {
        self.state().plans.entry(verb).or_default().extend(answers);
    }

    /// From now on, once no plan is left, this verb is answered so.
    pub(super) fn always(&self, verb: &'static str, answer: Answer) {
        self.state().for_ever.insert(verb, answer);
    }

    /// The item has stalled so often.
    pub(super) fn stalled(&self, id: i64, stalls: u32) {
        self.state().items.get_mut(&id).unwrap().stalls = stalls;
    }

    /// The item is another host's, whose lease for it has run out: the next sweep makes this of it.
    pub(super) fn expire(&self, id: i64, becomes: Status) {
        self.state().items.get_mut(&id).unwrap().status = Status::Running;
        self.state().expired.push((id, becomes));
    }

    /// Somebody wants the item cancelled.
    pub(super) fn cancel(&self, id: i64) {
        self.diary.note(format_args!("cancel {id}"));
        self.state().items.get_mut(&id).unwrap().cancel_requested_at = Some(OffsetDateTime::UNIX_EPOCH);
    }

    /// Another host has the item.
    pub(super) fn take_away(&self, id: i64) {
        self.diary.note(format_args!("taken away {id}"));
        self.state().items.get_mut(&id).unwrap().attempt += 1;
    }

    /// Somebody else locks the item, or lets it go.
    pub(super) fn lock(&self, id: i64, locked: bool) {
        self.state().locked.retain(|other| *other != id);
        if locked {
            self.state().locked.push(id);
        }
    }

    pub(super) fn item(&self, id: i64) -> WorkItem {
        self.state().items[&id].clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies a verb and answers it as was planned.
    async fn answer<T>(&self, verb: &'static str, apply: impl FnOnce(&mut State) -> T) -> Result<T> {
        let refused = || Err(QueueError::Unavailable { reason: "so it was planned".to_owned() });
        let answer = {
            let mut state = self.state();
            let planned = state.plans.get_mut(verb).and_then(VecDeque::pop_front);
            planned.or_else(|| state.for_ever.get(verb).copied()).unwrap_or(PROMPT)
        };
        match answer {
            Answer::After(time) => {
                let applied = apply(&mut self.state());
                if !time.is_zero() {
                    sleep(time).await;
                }
                Ok(applied)
            }
            Answer::Refused => refused(),
            Answer::Never => std::future::pending().await,
            Answer::Lost => {
                apply(&mut self.state());
                refused()
            }
            Answer::Swallowed => {
                apply(&mut self.state());
                std::future::pending().await
            }
            Answer::Breaks => panic!("so it was planned"),
        }
    }
}

impl State {
    /// The item, as far as this attempt still runs it.
    fn held(&mut self, fence: Fence) -> Option<&mut WorkItem> {
        let item = self.items.get_mut(&fence.id.0)?;
        (item.attempt == fence.attempt && item.status == Status::Running).then_some(item)
    }

    fn recover(&mut self, id: i64, status: Status) -> Recovered {
        let item = self.items.get_mut(&id).unwrap();
        (item.status, item.stalls) = (status, item.stalls + 1);
        Recovered { id: item.id, status, stalls: item.stalls }
    }

    fn finish(&mut self, finish: &Finish) -> Recorded {
        if self.locked.contains(&finish.fence.id.0) {
            return Recorded::Busy;
        }
        let status = match finish.outcome {
            Outcome::Succeeded(_) => Status::Succeeded,
            Outcome::Failed { .. } => Status::Failed,
            Outcome::Cancelled(_) => Status::Cancelled,
            Outcome::Released | Outcome::Retry { .. } => Status::Queued,
        };
        if let Some(item) = self.held(finish.fence) {
            item.status = status;
            return Recorded::Recorded;
        }
        let item = &self.items[&finish.fence.id.0];
        // Recorded before.
        if item.attempt == finish.fence.attempt && item.status == status { Recorded::Recorded } else { Recorded::Lost }
    }
}

fn ids<'a>(fences: impl IntoIterator<Item = &'a Fence>) -> String {
    let mut ids: Vec<i64> = fences.into_iter().map(|fence| fence.id.0).collect();
    ids.sort_unstable();
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn item(id: i64, kind: &str) -> WorkItem {
    let at = OffsetDateTime::UNIX_EPOCH;
    WorkItem {
        id: ItemId(id),
        kind: kind.to_owned(),
        payload: Json::parse("{}").unwrap(),
        dedup_key: None,
        scope: None,
        parent_id: None,
        priority: 0,
        run_at: at,
        status: Status::Queued,
        attempt: 0,
        stalls: 0,
        failures: 0,
        interruptions: 0,
        progress: None,
        result: None,
        error: None,
        reason: None,
        log_tail: None,
        host: None,
        handler_digest: None,
        lease_expires_at: None,
        cancel_requested_at: None,
        created_at: at,
        updated_at: at,
        started_at: None,
        finished_at: None,
    }
}

#[async_trait]
impl HostQueue for Store {
    fn wake(&self) -> Arc<Notify> {
        self.wake.clone()
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claim>> {
        let slots: Vec<String> = request.kinds.iter().map(|kind| format!("{}*{}", kind.kind, kind.slots)).collect();
        self.diary.note(format_args!("claim {}", slots.join(" ")));
        self.answer("claim", |state| {
            let mut left = request.limit;
            let mut free: BTreeMap<&str, u32> =
                request.kinds.iter().map(|kind| (kind.kind.as_str(), kind.slots)).collect();
            let mut claims = Vec::new();
            let mut last_chances = request.last_chances.limit;
            for item in state.items.values_mut().filter(|item| item.status == Status::Queued) {
                if item.stalls >= request.last_chances.stalls {
                    let Some(left) = last_chances.checked_sub(1) else { continue };
                    last_chances = left;
                }
                let Some(free) = free.get_mut(item.kind.as_str()).filter(|free| **free > 0) else { continue };
                if left == 0 {
                    break;
                }
                (*free, left) = (*free - 1, left - 1);
                item.status = Status::Running;
                item.attempt += 1;
                claims.push(Claim { item: item.clone() });
            }
            claims
        })
        .await
    }

    async fn claimed(&self, _host: &str, known: &[Fence], _lease: Duration) -> Result<Vec<Claim>> {
        self.diary.note(format_args!("claimed beyond {}", ids(known)));
        let known = known.to_vec();
        self.answer("claimed", |state| {
            let running = state.items.values().filter(|item| item.status == Status::Running);
            let claims = running.map(|item| Claim { item: item.clone() });
            claims.filter(|claim| !known.contains(&claim.fence())).collect()
        })
        .await
    }

    async fn heartbeat(&self, beats: &[Beat], _lease: Duration) -> Result<Vec<Pulse>> {
        self.diary.note(format_args!("beat {}", ids(beats.iter().map(|beat| &beat.fence))));
        for (fence, progress) in beats.iter().filter_map(|beat| Some((beat.fence, beat.progress.as_ref()?))) {
            self.diary.note(format_args!("progress {} {}", fence.id, progress.as_str()));
        }
        self.answer("heartbeat", |state| {
            let pulse = |beat: &Beat| {
                if state.locked.contains(&beat.fence.id.0) {
                    return Pulse::Busy;
                }
                match state.held(beat.fence) {
                    None => Pulse::Lost,
                    Some(item) if item.cancel_requested_at.is_some() => Pulse::CancelRequested,
                    Some(_) => Pulse::Alive,
                }
            };
            beats.iter().map(pulse).collect()
        })
        .await
    }

    async fn finish(&self, finishes: &[Finish]) -> Result<Vec<Recorded>> {
        self.diary.note(format_args!("write {}", finishes.len()));
        for finish in finishes {
            let how = match &finish.outcome {
                Outcome::Succeeded(_) => "succeeded".to_owned(),
                Outcome::Failed { error } => format!("failed: {error}"),
                Outcome::Cancelled(summary) => format!("cancelled, summary: {}", summary.is_some()),
                Outcome::Released => "released".to_owned(),
                Outcome::Retry { .. } => "retry".to_owned(),
            };
            self.diary.note(format_args!("finish {} {how}", finish.fence.id));
            if let Some(progress) = &finish.progress {
                self.diary.note(format_args!("last progress {} {}", finish.fence.id, progress.as_str()));
            }
        }
        self.answer("finish", |state| finishes.iter().map(|finish| state.finish(finish)).collect()).await
    }

    async fn recover_expired(&self, _max_stalls: u32, _limit: u32) -> Result<Vec<Recovered>> {
        self.diary.note("sweep");
        self.answer("recover_expired", |state| {
            let expired = std::mem::take(&mut state.expired);
            expired.into_iter().map(|(id, status)| state.recover(id, status)).collect()
        })
        .await
    }

    async fn enqueue_due(&self, periodics: &[Periodic]) -> Result<Vec<ItemId>> {
        self.diary.note(format_args!("schedules {}", periodics.len()));
        self.answer("enqueue_due", |_| Vec::new()).await
    }

    async fn host_seen(&self, _report: &HostReport) -> Result<()> {
        self.diary.note("report");
        self.answer("host_seen", |_| ()).await
    }
}
