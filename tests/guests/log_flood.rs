//! Logs without an end.

use schemars::JsonSchema;
use serde::Deserialize;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers, log};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LogFlood {}

impl Handler for LogFlood {
    const KIND: &'static str = "log-flood";
    const SUMMARY: &'static str = "Logs without an end.";
    type Summary = ();

    fn run(self, _: &Work) -> Result<Ending<()>, Failure> {
        loop {
            log::info("once more", &[]);
        }
    }
}

export_handlers!(LogFlood);
