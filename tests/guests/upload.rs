//! Sends a body piece by piece, and may leave it unfinished.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, Method, OutgoingBody, OutgoingRequest, Scheme};
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Upload {
    /// Host and port.
    authority: String,
    bytes: u64,
    /// What to do before the end of the body: `panic`, or `wait` for ever.
    before_end: Option<String>,
}

#[derive(Serialize)]
struct Uploaded {
    written: u64,
    status: Option<u16>,
    error: Option<String>,
}

const PIECE: [u8; 16 << 10] = [b'x'; 16 << 10];

impl Handler for Upload {
    const KIND: &'static str = "upload";
    const SUMMARY: &'static str = "Sends a body piece by piece.";
    type Summary = Uploaded;

    fn run(self, work: &Work) -> Result<Ending<Uploaded>, Failure> {
        let request = OutgoingRequest::new(Fields::new());
        let set = request.set_method(&Method::Post).is_ok()
            && request.set_scheme(Some(&Scheme::Http)).is_ok()
            && request.set_authority(Some(&self.authority)).is_ok()
            && request.set_path_with_query(Some("/upload")).is_ok();
        assert!(set, "an authority is none");
        let body = request.body().expect("nobody took it before");
        let answer = handle(request, None).map_err(|code| format!("{code:?}"))?;
        let stream = body.write().expect("nobody took it before");
        let mut written = 0;
        while written < self.bytes {
            let Ok(room) = stream.check_write() else { break };
            if room == 0 {
                stream.subscribe().block();
                continue;
            }
            let piece = room.min(PIECE.len() as u64).min(self.bytes - written);
            if stream.write(&PIECE[..piece as usize]).is_err() {
                break;
            }
            written += piece;
        }
        work.report_progress_now(&written);
        match self.before_end.as_deref() {
            Some("panic") => panic!("left unfinished"),
            Some(_) => loop {
                std::thread::sleep(std::time::Duration::from_secs(3600));
            },
            None => {}
        }
        drop(stream);
        let _ = OutgoingBody::finish(body, None);
        answer.subscribe().block();
        let (status, error) = match answer.get().expect("it is ready").expect("nobody took it before") {
            Ok(response) => (Some(response.status()), None),
            Err(code) => (None, Some(format!("{code:?}"))),
        };
        Ok(Ending::Done(Uploaded { written, status, error }))
    }
}

export_handlers!(Upload);
