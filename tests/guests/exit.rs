//! Ends its process instead of returning.

use schemars::JsonSchema;
use serde::Deserialize;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Exit {}

impl Handler for Exit {
    const KIND: &'static str = "exit";
    const SUMMARY: &'static str = "Ends its process instead of returning.";
    type Summary = ();

    fn run(self, _: &Work) -> Result<Ending<()>, Failure> {
        std::process::exit(0)
    }
}

export_handlers!(Exit);
