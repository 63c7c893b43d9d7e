//! Takes memory until there is no more.

use schemars::JsonSchema;
use serde::Deserialize;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Greedy {}

impl Handler for Greedy {
    const KIND: &'static str = "greedy";
    const SUMMARY: &'static str = "Takes memory until there is no more.";
    type Summary = ();

    fn run(self, _: &Work) -> Result<Ending<()>, Failure> {
        let mut taken: Vec<Vec<u8>> = Vec::new();
        loop {
            // Filled with ones, as untouched zeroes would cost nothing.
            taken.push(vec![1; 1 << 20]);
            std::hint::black_box(&taken);
        }
    }
}

export_handlers!(Greedy);
