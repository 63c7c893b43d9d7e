//! Asks for a capability that it was not granted.

use schemars::JsonSchema;
use serde::Deserialize;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers, sql};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ungranted {}

impl Handler for Ungranted {
    const KIND: &'static str = "ungranted";
    const SUMMARY: &'static str = "Asks for a capability that it was not granted.";
    type Summary = u64;

    fn run(self, _: &Work) -> Result<Ending<u64>, Failure> {
        Ok(Ending::Done(sql::execute("anything", &[])?))
    }
}

export_handlers!(Ungranted);
