//! Handlers that send requests: what they may, what they may not, and what becomes of those that go on for ever.

mod ending;
mod limits;
mod names;
mod program;
mod sent;
pub(crate) mod server;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::Value;
use workhost_runtime::{Backends, Control, Ended, Grants, Handler, HttpGrant, Job, Limits, Resolve, Runtime};

use crate::harness::component;
use server::Server;

/// A resolver that knows what the test tells it: each look-up takes the next answer, the last one stays.
#[derive(Default)]
struct Names {
    answers: Mutex<BTreeMap<String, Vec<Vec<IpAddr>>>>,
    looked_up: Mutex<Vec<String>>,
}

impl Names {
    fn of(names: &[(&str, &[&[&str]])]) -> Arc<Names> {
        let addresses = |addresses: &&[&str]| addresses.iter().map(|address| address.parse().unwrap()).collect();
        let answers =
            names.iter().map(|(name, answers)| ((*name).to_owned(), answers.iter().map(addresses).collect())).collect();
        Arc::new(Names { answers: Mutex::new(answers), looked_up: Mutex::default() })
    }

    fn looked_up(&self) -> Vec<String> {
        self.looked_up.lock().unwrap().clone()
    }
}

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        self.looked_up.lock().unwrap().push(name.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let answers = answers.get_mut(name).ok_or(std::io::ErrorKind::NotFound)?;
        Ok(if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() })
    }
}

/// A grant of these origins.
fn grant(allow: &[&str]) -> HttpGrant {
    let allow = allow.iter().map(|origin| origin.parse().unwrap()).collect();
    HttpGrant { allow, private: Vec::new(), ca: None }
}

/// The same, whose names may lead to this machine, by the one address that the servers of these tests listen on.
fn inside(allow: &[&str]) -> HttpGrant {
    HttpGrant { private: vec!["127.0.0.1".parse().unwrap()], ..grant(allow) }
}

/// A guest of the tests, loaded with this grant.
async fn load(guest: &str, grant: HttpGrant, limits: Limits) -> Handler {
    load_with(guest, grant, limits, Names::of(&[])).await
}

/// The same, with names of the test's own.
async fn load_with(guest: &str, grant: HttpGrant, limits: Limits, names: Arc<Names>) -> Handler {
    let runtime = Runtime::new(Limits { attempts: 4, ..limits }).unwrap();
    let grants = Grants { http: Some(grant), ..Grants::default() };
    let backends = Backends { resolver: names, ..Backends::default() };
    let file = PathBuf::from(component(&format!("guests/{guest}")));
    runtime.load(&file, grants, &backends).await.unwrap()
}

/// What a run of a guest came to.
struct Ran {
    ended: Ended,
    log: String,
}

impl Ran {
    /// The summary of a run that was done.
    fn summary(&self) -> Value {
        match &self.ended {
            Ended::Done(Some(summary)) => serde_json::from_str(summary).unwrap(),
            other => panic!("{other:?}\n{}", self.log),
        }
    }

    /// The error that the guest was told.
    fn error(&self) -> String {
        let summary = self.summary();
        summary["error"].as_str().unwrap_or_else(|| panic!("no error: {summary}")).to_owned()
    }
}

async fn run(handler: &Handler, payload: Value) -> Ran {
    run_with(handler, payload, Arc::new(Control::new())).await
}

async fn run_with(handler: &Handler, payload: Value, control: Arc<Control>) -> Ran {
    let kind = handler.examined().kinds[0].kind.clone();
    let job = Job { id: 1, kind, scope: None, attempt: 1, payload: payload.to_string(), resume_from: None };
    let ended = handler.run(job, control.clone()).await;
    Ran { ended, log: control.log_tail().unwrap_or_default() }
}
