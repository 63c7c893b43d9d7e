//! Never ends, and calls no host function.

use schemars::JsonSchema;
use serde::Deserialize;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Spin {}

impl Handler for Spin {
    const KIND: &'static str = "spin";
    const SUMMARY: &'static str = "Never ends, and calls no host function.";
    type Summary = ();

    fn run(self, _: &Work) -> Result<Ending<()>, Failure> {
        loop {
            std::hint::spin_loop();
        }
    }
}

export_handlers!(Spin);
