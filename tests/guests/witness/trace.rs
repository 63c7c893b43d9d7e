//! What an attempt leaves behind outside of its host.

use std::fs::File;
use std::io::Write;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Deserialize;
use workhost_sdk::http::Request;
use workhost_sdk::{Work, sql};

/// Where a trace goes besides the file.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum To {
    #[default]
    File,
    /// A request to the test's own server.
    Http,
    /// A row of the application's.
    Sql,
}

/// Numbered traces; each is reported as progress once it is left.
pub(crate) struct Trace<'a> {
    work: &'a Work,
    file: File,
    to: To,
    server: &'a str,
    number: u64,
}

impl<'a> Trace<'a> {
    pub(crate) fn open(work: &'a Work, to: To, server: &'a str) -> Self {
        let path = format!("/out/{}", work.id());
        let file = File::options().create(true).append(true).open(path).expect("the folder is granted");
        Trace { work, file, to, server, number: 0 }
    }

    /// Leaves one, and answers how many there are.
    pub(crate) fn leave(&mut self, what: &str) -> u64 {
        self.number += 1;
        let (id, attempt, number) = (self.work.id(), self.work.attempt(), self.number);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_millis();
        self.file.write_all(format!("{attempt} {number} {now} {what}\n").as_bytes()).expect("the file can be written");
        match self.to {
            To::File => {}
            To::Http => {
                let url = format!("{}/trace/{id}/{number}", self.server);
                drop(Request::get(url).send().expect("the server answers"));
            }
            To::Sql => {
                let number = i64::try_from(number).expect("there are fewer");
                sql::execute("trace", &[number.into()]).expect("the table takes it");
            }
        }
        self.work.report_progress_now(&number);
        number
    }
}
