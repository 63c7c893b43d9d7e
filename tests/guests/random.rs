//! Asks for 1 GiB of random bytes.

use schemars::JsonSchema;
use serde::Deserialize;
use wasip2::random::random::get_random_bytes;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Random {}

impl Handler for Random {
    const KIND: &'static str = "random";
    const SUMMARY: &'static str = "Asks for 1 GiB of random bytes.";
    type Summary = ();

    fn run(self, _: &Work) -> Result<Ending<()>, Failure> {
        let bytes = get_random_bytes(1 << 30);
        Err(Failure { message: format!("got {} bytes", bytes.len()), permanent: false })
    }
}

export_handlers!(Random);
