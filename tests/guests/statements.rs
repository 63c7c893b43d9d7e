//! Runs the granted statement that its payload names, without parameters of its own.

use schemars::JsonSchema;
use serde::Deserialize;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers, sql};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Statements {
    /// The statement's name.
    run: String,
    /// Whether its rows are wanted.
    #[serde(default)]
    query: bool,
}

impl Handler for Statements {
    const KIND: &'static str = "statements";
    const SUMMARY: &'static str = "Runs a statement.";
    type Summary = u64;

    fn run(self, _: &Work) -> Result<Ending<u64>, Failure> {
        Ok(Ending::Done(match self.query {
            true => sql::query(&self.run, &[])?.len() as u64,
            false => sql::execute(&self.run, &[])?,
        }))
    }
}

export_handlers!(Statements);
