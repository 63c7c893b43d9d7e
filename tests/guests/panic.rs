//! Panics with the message of its payload.

use schemars::JsonSchema;
use serde::Deserialize;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Panic {
    message: String,
}

impl Handler for Panic {
    const KIND: &'static str = "panic";
    const SUMMARY: &'static str = "Panics.";
    type Summary = ();

    fn run(self, _: &Work) -> Result<Ending<()>, Failure> {
        panic!("{}", self.message)
    }
}

export_handlers!(Panic);
