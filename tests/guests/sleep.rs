//! Waits in a host call for ever.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Sleep {}

impl Handler for Sleep {
    const KIND: &'static str = "sleep";
    const SUMMARY: &'static str = "Waits in a host call for ever.";
    type Summary = ();

    fn run(self, _: &Work) -> Result<Ending<()>, Failure> {
        std::thread::sleep(Duration::from_secs(1 << 30));
        Ok(Ending::Done(()))
    }
}

export_handlers!(Sleep);
