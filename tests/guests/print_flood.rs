//! Prints millions of lines in one call.

use schemars::JsonSchema;
use serde::Deserialize;
use wasip2::cli::stdout::get_stdout;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PrintFlood {}

impl Handler for PrintFlood {
    const KIND: &'static str = "print-flood";
    const SUMMARY: &'static str = "Prints millions of lines in one call.";
    type Summary = ();

    fn run(self, _: &Work) -> Result<Ending<()>, Failure> {
        let lines = b"x\n".repeat(7 << 20);
        let written = get_stdout().write(&lines);
        Err(Failure { message: format!("{written:?}"), permanent: false })
    }
}

export_handlers!(PrintFlood);
