//! Writes a line into a granted folder at each step, outside of the queue: what an attempt did, whatever became of it.
//!
//! It is done after its steps, or once somebody has laid a file `enough` into the folder.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Journal {
    steps: u64,
    step_ms: u64,
}

#[derive(Deserialize, Serialize)]
struct Progress {
    step: u64,
}

#[derive(Serialize)]
struct Summary {
    /// The step at which this attempt began.
    resumed_from: u64,
}

impl Handler for Journal {
    const KIND: &'static str = "journal";
    const SUMMARY: &'static str = "Writes down its steps.";
    type Summary = Summary;

    fn run(self, work: &Work) -> Result<Ending<Summary>, Failure> {
        // Items of one scope share a file, so that one that runs beside another is seen in it.
        let name = work.scope().map_or_else(|| work.id().to_string(), str::to_owned);
        let mut file = OpenOptions::new().create(true).append(true).open(format!("/journal/{name}")).map_err(failed)?;
        let resumed_from = work.resume_from().map_or(0, |progress: Progress| progress.step);
        for step in resumed_from..self.steps {
            if Path::new("/journal/enough").exists() {
                break;
            }
            if work.stop_requested().is_some() {
                work.report_progress_now(&Progress { step });
                return Ok(Ending::Stopped(Summary { resumed_from }));
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let line = format!("{} {} {step} {}\n", work.id(), work.attempt(), now.as_millis());
            file.write_all(line.as_bytes()).map_err(failed)?;
            std::thread::sleep(Duration::from_millis(self.step_ms));
            work.report_progress(&Progress { step: step + 1 });
        }
        Ok(Ending::Done(Summary { resumed_from }))
    }
}

fn failed(error: std::io::Error) -> Failure {
    Failure::new(format!("the journal: {error}"))
}

export_handlers!(Journal);
