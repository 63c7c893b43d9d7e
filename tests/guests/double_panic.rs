//! Panics while it writes the text of a panic.

use std::fmt::{Display, Formatter};

use schemars::JsonSchema;
use serde::Deserialize;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DoublePanic {}

struct Unspeakable;

impl Display for Unspeakable {
    fn fmt(&self, _: &mut Formatter<'_>) -> std::fmt::Result {
        panic!("no words for it")
    }
}

impl Handler for DoublePanic {
    const KIND: &'static str = "double-panic";
    const SUMMARY: &'static str = "Panics while it writes the text of a panic.";
    type Summary = ();

    fn run(self, _: &Work) -> Result<Ending<()>, Failure> {
        panic!("{}", Unspeakable)
    }
}

export_handlers!(DoublePanic);
