//! Fails as its payload says.

use schemars::JsonSchema;
use serde::Deserialize;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fail {
    message: String,
    #[serde(default)]
    permanent: bool,
}

impl Handler for Fail {
    const KIND: &'static str = "fail";
    const SUMMARY: &'static str = "Fails as its payload says.";
    type Summary = ();

    fn run(self, _: &Work) -> Result<Ending<()>, Failure> {
        Err(Failure { message: self.message, permanent: self.permanent })
    }
}

export_handlers!(Fail);
