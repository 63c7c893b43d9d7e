//! Calls itself without an end.

use schemars::JsonSchema;
use serde::Deserialize;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Deep {}

/// What it answers depends on all the calls below, so that none of them can be left out.
#[allow(unconditional_recursion, reason = "the case")]
fn deeper(depth: u64) -> u64 {
    deeper(std::hint::black_box(depth + 1)) ^ std::hint::black_box(depth)
}

impl Handler for Deep {
    const KIND: &'static str = "deep";
    const SUMMARY: &'static str = "Calls itself without an end.";
    type Summary = ();

    fn run(self, _: &Work) -> Result<Ending<()>, Failure> {
        Err(Failure { message: deeper(1).to_string(), permanent: false })
    }
}

export_handlers!(Deep);
