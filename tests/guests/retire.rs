//! Deletes finished items, again and again for as long as it is let.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers, retention};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Retire {
    older_than_days: u32,
    for_seconds: u64,
}

impl Handler for Retire {
    const KIND: &'static str = "retire";
    const SUMMARY: &'static str = "Deletes finished items.";
    type Summary = u64;

    fn run(self, work: &Work) -> Result<Ending<u64>, Failure> {
        let until = Instant::now() + Duration::from_secs(self.for_seconds);
        let mut deleted = 0;
        while Instant::now() < until {
            deleted += retention::delete_finished(self.older_than_days)?;
            work.report_progress(&deleted);
        }
        Ok(Ending::Done(deleted))
    }
}

export_handlers!(Retire);
