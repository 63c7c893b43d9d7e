//! Sends many requests at once, and waits for all of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, OutgoingRequest, Scheme};
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Crowd {
    /// Host and port.
    authority: String,
    requests: u32,
    /// Whether to keep each response without reading it.
    #[serde(default)]
    keep: bool,
}

#[derive(Default, Serialize)]
struct Answers {
    ok: u32,
    /// What the others failed with, the last of them.
    error: Option<String>,
    failed: u32,
}

impl Handler for Crowd {
    const KIND: &'static str = "crowd";
    const SUMMARY: &'static str = "Sends many requests at once.";
    type Summary = Answers;

    fn run(self, _: &Work) -> Result<Ending<Answers>, Failure> {
        let sent: Vec<_> = (0..self.requests)
            .map(|number| {
                let request = OutgoingRequest::new(Fields::new());
                let set = request.set_scheme(Some(&Scheme::Http)).is_ok()
                    && request.set_authority(Some(&self.authority)).is_ok()
                    && request.set_path_with_query(Some(&format!("/{number}"))).is_ok();
                assert!(set, "an authority is none");
                handle(request, None)
            })
            .collect();
        let (mut answers, mut kept) = (Answers::default(), Vec::new());
        for answer in sent {
            let answer = answer.and_then(|answer| {
                answer.subscribe().block();
                answer.get().expect("it is ready").expect("nobody took it before")
            });
            match answer {
                Ok(response) => {
                    answers.ok += 1;
                    if self.keep {
                        kept.push(response);
                    }
                }
                Err(code) => {
                    answers.failed += 1;
                    answers.error = Some(format!("{code:?}"));
                }
            }
        }
        Ok(Ending::Done(answers))
    }
}

export_handlers!(Crowd);
