//! Enqueues more work: once, or again and again for as long as it is let.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workhost_sdk::queue::{self, Enqueued, NewItem};
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FanOut {
    /// The children's kind.
    kind: String,
    /// Their payload.
    payload: serde_json::Value,
    /// How many in one call.
    #[serde(default = "one")]
    items: usize,
    dedup_key: Option<String>,
    scope: Option<String>,
    #[serde(default)]
    delay_seconds: u32,
    /// Goes on so long, one call after the other.
    #[serde(default)]
    for_seconds: u64,
}

fn one() -> usize {
    1
}

#[derive(Serialize)]
struct Children {
    created: Vec<u64>,
    existing: Vec<u64>,
}

impl Handler for FanOut {
    const KIND: &'static str = "fan-out";
    const SUMMARY: &'static str = "Enqueues more work.";
    type Summary = Children;

    fn run(self, _: &Work) -> Result<Ending<Children>, Failure> {
        let until = Instant::now() + Duration::from_secs(self.for_seconds);
        let (mut created, mut existing) = (Vec::new(), Vec::new());
        loop {
            for answer in queue::enqueue((0..self.items).map(|_| self.child()))? {
                match answer {
                    Enqueued::Created(id) => created.push(id),
                    Enqueued::Existing(id) => existing.push(id),
                }
            }
            if Instant::now() >= until {
                return Ok(Ending::Done(Children { created, existing }));
            }
        }
    }
}

impl FanOut {
    fn child(&self) -> NewItem {
        let mut child = NewItem::new(&self.kind, &self.payload).delay_seconds(self.delay_seconds);
        if let Some(key) = &self.dedup_key {
            child = child.dedup_key(key);
        }
        if let Some(scope) = &self.scope {
            child = child.scope(scope);
        }
        child
    }
}

export_handlers!(FanOut);
