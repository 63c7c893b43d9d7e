//! What attempts did, as they wrote it down outside of the queue.

use std::time::{Duration, Instant};

use serde_json::json;
use workhost_queue::NewItem;

use super::{PATIENCE, Workshop, component, new_item};

/// One line of the guest `journal`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JournalStep {
    pub(crate) item: i64,
    pub(crate) attempt: u32,
    pub(crate) step: u64,
    /// By its host's clock, in milliseconds since 1970.
    pub(crate) at: i128,
}

impl Workshop {
    /// The kind `journal` with these settings: its attempts write down each step.
    pub(crate) fn journal_kind(&self, settings: &str) -> String {
        std::fs::create_dir_all(self.path("journal")).unwrap();
        format!(
            "[kinds.journal]\n{settings}\n[[handlers]]\ncomponent = {:?}\n\
             [[handlers.dirs]]\nguest = \"/journal\"\npath = \"journal\"\nmode = \"read-write\"\n",
            component("guests/journal")
        )
    }

    /// Lets all items of the kind end as soon as they look.
    pub(crate) fn journal_is_enough(&self) {
        self.write("journal/enough", "");
    }

    /// What was written down under a scope, or under the number of an item without one.
    pub(crate) fn journal(&self, name: &str) -> Vec<JournalStep> {
        let text = std::fs::read_to_string(self.path("journal").join(name)).unwrap_or_default();
        // The last line may still be on its way.
        text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).map(step).collect()
    }

    /// Waits until so many steps more are written down.
    pub(crate) async fn until_journal_grows(&self, name: &str, by: usize) {
        let (start, wanted) = (Instant::now(), self.journal(name).len() + by);
        while self.journal(name).len() < wanted {
            assert!(start.elapsed() < PATIENCE, "{name} does not go on\n{}", self.logs());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// In no journal of this workshop did one attempt work beside another.
    pub(crate) fn journals_must_be_one_at_a_time(&self) {
        for entry in std::fs::read_dir(self.path("journal")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            must_be_one_at_a_time(&name, &self.journal(&name));
        }
    }
}

/// An item that goes on until [`Workshop::journal_is_enough`].
pub(crate) fn endless(step_ms: u64) -> NewItem {
    new_item("journal", &json!({ "steps": 1_000_000, "step_ms": step_ms }))
}

/// An item of so many steps.
pub(crate) fn steps(steps: u64, step_ms: u64) -> NewItem {
    new_item("journal", &json!({ "steps": steps, "step_ms": step_ms }))
}

/// Whoever began is not heard of again once another has begun, and no attempt begins twice: the lines are in the order in
/// which they were written.
pub(crate) fn must_be_one_at_a_time(name: &str, journal: &[JournalStep]) {
    let mut runs: Vec<(i64, u32)> = journal.iter().map(|step| (step.item, step.attempt)).collect();
    runs.dedup();
    let mut seen = std::collections::HashSet::new();
    for [one, next] in journal.array_windows() {
        let same = (one.item, one.attempt) == (next.item, next.attempt);
        assert!(!same || one.step < next.step, "{name}: an attempt ran twice: {one:?}, {next:?}");
    }
    for run in &runs {
        assert!(seen.insert(run), "{name}: item {} attempt {} worked beside another: {runs:?}", run.0, run.1);
    }
}

fn step(line: &str) -> JournalStep {
    let mut words = line.split(' ');
    let mut word = || words.next().unwrap_or_else(|| panic!("half a line: {line}"));
    JournalStep {
        item: word().parse().unwrap(),
        attempt: word().parse().unwrap(),
        step: word().parse().unwrap(),
        at: word().parse().unwrap(),
    }
}
