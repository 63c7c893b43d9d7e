//! Answers its payload.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Echo {
    message: String,
}

impl Handler for Echo {
    const KIND: &'static str = "echo";
    const SUMMARY: &'static str = "Answers its payload.";
    type Summary = Self;

    fn run(self, _: &Work) -> Result<Ending<Self>, Failure> {
        Ok(Ending::Done(self))
    }
}

export_handlers!(Echo);
