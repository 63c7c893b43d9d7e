//! Takes its time, tells how far it is, resumes there, and stops when it is asked to.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Slow {
    steps: u64,
    step_ms: u64,
}

#[derive(Deserialize, Serialize)]
struct Progress {
    step: u64,
}

#[derive(Serialize)]
struct Summary {
    /// How many steps are done, over all attempts.
    steps: u64,
    /// The step at which this attempt began.
    resumed_from: u64,
}

impl Handler for Slow {
    const KIND: &'static str = "slow";
    const SUMMARY: &'static str = "Takes its time.";
    type Summary = Summary;

    fn run(self, work: &Work) -> Result<Ending<Summary>, Failure> {
        let resumed_from = work.resume_from().map_or(0, |progress: Progress| progress.step);
        for step in resumed_from..self.steps {
            if work.stop_requested().is_some() {
                work.report_progress_now(&Progress { step });
                return Ok(Ending::Stopped(Summary { steps: step, resumed_from }));
            }
            std::thread::sleep(Duration::from_millis(self.step_ms));
            work.report_progress(&Progress { step: step + 1 });
        }
        Ok(Ending::Done(Summary { steps: self.steps, resumed_from }))
    }
}

export_handlers!(Slow);
