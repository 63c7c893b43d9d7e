//! Makes a million host resources and keeps them.

use schemars::JsonSchema;
use serde::Deserialize;
use wasip2::clocks::monotonic_clock::subscribe_duration;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Resources {}

impl Handler for Resources {
    const KIND: &'static str = "resources";
    const SUMMARY: &'static str = "Makes a million host resources and keeps them.";
    type Summary = ();

    fn run(self, _: &Work) -> Result<Ending<()>, Failure> {
        for _ in 0..1_000_000 {
            std::mem::forget(subscribe_duration(1));
        }
        Ok(Ending::Done(()))
    }
}

export_handlers!(Resources);
