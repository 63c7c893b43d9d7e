//! Leaves a trace of all that it does outside of its host, so that a test sees what an attempt did, and when.
//!
//! Only the first attempt of an item does what its payload says; a later one is done at once.

mod witness {
    pub(crate) mod trace;
}

use std::hint::black_box;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use workhost_sdk::http::Request;
use workhost_sdk::{Ending, Failure, Handler, StopReason, Work, export_handlers, sql};

use witness::trace::{To, Trace};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Part {
    does: Does,
    /// Where its trace goes besides the file.
    #[serde(default)]
    to: To,
    /// The test's own server.
    #[serde(default)]
    server: String,
    /// Whether it is not to hear that it should stop, while it races.
    #[serde(default)]
    deaf: bool,
    /// For how long it tidies up once it was told to stop.
    #[serde(default)]
    tidies_ms: u64,
    /// How it ends after that.
    #[serde(default)]
    ends: Ends,
}

/// What it does until it is told to stop, or for ever.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Does {
    /// Computes for long, and leaves a trace in between. Never asks whether it should stop.
    Spin,
    /// Waits for its clock.
    Sleep,
    /// Waits for a response that never comes.
    Hang,
    /// Waits for a statement that never ends.
    Statement,
    /// Leaves traces as fast as it can. Never asks whether it should stop.
    Ignore,
    /// Leaves traces until it is told to stop, and some more.
    Tidy,
    /// Waits for the file `go-ID`, and is done the moment it is there or it is told to stop.
    Race,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Ends {
    #[default]
    Stopped,
    Done,
    Failed,
    Panic,
}

impl Part {
    fn run(self, work: &Work) -> Result<Ending<u64>, Failure> {
        let mut trace = Trace::open(work, self.to, &self.server);
        trace.leave("begin");
        if work.attempt() > 1 {
            return Ok(Ending::Done(trace.leave("end")));
        }
        match self.does {
            Does::Spin => loop {
                for number in 0..1_000_000_000_u64 {
                    black_box(number);
                }
                trace.leave("spun");
            },
            Does::Ignore => loop {
                trace.leave("ignores");
            },
            Does::Sleep => std::thread::sleep(Duration::from_secs(1 << 30)),
            Does::Hang => drop(Request::get(format!("{}/hang", self.server)).send()),
            Does::Statement => drop(sql::execute("wait", &[])),
            Does::Tidy => return self.tidy(work, &mut trace),
            Does::Race => return Ok(self.race(work, &mut trace)),
        }
        // What it waited for does not come: nobody sees this.
        trace.leave("waited");
        Ok(Ending::Done(0))
    }

    fn tidy(&self, work: &Work, trace: &mut Trace) -> Result<Ending<u64>, Failure> {
        let step = Duration::from_millis(5);
        let reason = loop {
            if let Some(reason) = work.stop_requested() {
                break reason;
            }
            trace.leave("works");
            std::thread::sleep(step);
        };
        trace.leave(told(reason));
        let told = Instant::now();
        while told.elapsed() < Duration::from_millis(self.tidies_ms) {
            trace.leave("tidies");
            std::thread::sleep(step);
        }
        let traces = trace.leave("end");
        match self.ends {
            Ends::Stopped => Ok(Ending::Stopped(traces)),
            Ends::Done => Ok(Ending::Done(traces)),
            Ends::Failed => Err(Failure::new("could not tidy up")),
            Ends::Panic => panic!("panicked while it tidied up"),
        }
    }

    fn race(&self, work: &Work, trace: &mut Trace) -> Ending<u64> {
        let go = format!("/out/go-{}", work.id());
        loop {
            if std::fs::exists(&go).expect("the folder is granted") {
                return Ending::Done(trace.leave("end"));
            }
            if let Some(reason) = work.stop_requested().filter(|_| !self.deaf) {
                return Ending::Done(trace.leave(told(reason)));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn told(reason: StopReason) -> &'static str {
    match reason {
        StopReason::CancelRequested => "told-cancel-requested",
        StopReason::Shutdown => "told-shutdown",
        StopReason::Deadline => "told-deadline",
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
struct Witness(Part);

/// The same, for a test that needs two kinds.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
struct Bystander(Part);

impl Handler for Witness {
    const KIND: &'static str = "witness";
    const SUMMARY: &'static str = "Leaves a trace of all that it does.";
    type Summary = u64;

    fn run(self, work: &Work) -> Result<Ending<u64>, Failure> {
        self.0.run(work)
    }
}

impl Handler for Bystander {
    const KIND: &'static str = "bystander";
    const SUMMARY: &'static str = "Leaves a trace of all that it does.";
    type Summary = u64;

    fn run(self, work: &Work) -> Result<Ending<u64>, Failure> {
        self.0.run(work)
    }
}

export_handlers!(Witness, Bystander);
