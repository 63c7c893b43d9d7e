//! Reads its settings, and tells its secret in every way that it has.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints on purpose")]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workhost_sdk::{Ending, Failure, Handler, Work, config, export_handlers, log, secrets};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Blabber {
    /// How it ends.
    end: End,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum End {
    Done,
    Failure,
    Panic,
}

#[derive(Serialize)]
struct Told {
    region: String,
    days: Option<u32>,
    /// How long the secret is, to show that it was read.
    bytes: usize,
}

impl Handler for Blabber {
    const KIND: &'static str = "blabber";
    const SUMMARY: &'static str = "Tells its secret.";
    type Summary = Told;

    fn run(self, _: &Work) -> Result<Ending<Told>, Failure> {
        let secret = secrets::get("token")?;
        println!("stdout says {secret}.");
        eprintln!("stderr says {secret}");
        eprint!("{}", &secret[..secret.len() - 1]);
        eprintln!();
        log::info(&format!("the log says {secret}"), &[("field", &secret)]);
        match self.end {
            End::Done => Ok(Ending::Done(Told {
                region: config::get("region")?,
                days: config::find("days")?,
                bytes: secret.len(),
            })),
            End::Failure => Err(Failure::new(format!("401 for token {secret}"))),
            End::Panic => panic!("cannot log in with {secret}"),
        }
    }
}

export_handlers!(Blabber);
