//! Power cuts at each step of an attempt.

use std::os::unix::process::ExitStatusExt;

use workhost_daemon::fault::Fault;
use workhost_queue::{ItemId, Status, WorkItem};

use crate::harness::*;

/// Runs an item on a host that dies at this step of its attempt, and then on one that does not.
async fn cut_at(w: &Workshop, fault: Fault) -> WorkItem {
    let daemon = w.launch(Launch { env: &[("WORKHOST_FAULT", fault.name())], ..Launch::default() });
    let id = w.enqueue("slow", &["--payload", r#"{"steps": 20, "step_ms": 20}"#]);
    if fault == Fault::Asked {
        cancel_once_it_runs(w, id).await;
    }
    assert_eq!(daemon.wait().signal(), Some(9), "{fault:?}");
    let daemon = w.serve();
    let item = w.until_finished(id).await;
    daemon.stop();
    item
}

async fn cancel_once_it_runs(w: &Workshop, id: ItemId) {
    w.until(id, "running", |item| item.status == Status::Running).await;
    w.run_ok(&["cancel", &id.to_string()]);
}

on_both_stores! {
    async fn a_host_that_dies_at_any_step_of_an_attempt_costs_a_stall_and_nothing_else(w: Workshop) {
        w.configure(&guest("slow", ""));
        for fault in Fault::ALL {
            let item = cut_at(&w, fault).await;
            let (status, attempt, stalls) = match fault {
                // The request outlives the host.
                Fault::Asked => (Status::Cancelled, 1, 1),
                Fault::Recorded => (Status::Succeeded, 1, 0),
                Fault::Claimed | Fault::Started | Fault::Beaten | Fault::Returned => (Status::Succeeded, 2, 1),
            };
            assert_eq!((item.status, item.attempt, item.stalls), (status, attempt, stalls), "{fault:?}: {item:#?}");
            assert_eq!((item.failures, item.interruptions), (0, 0), "{fault:?}");
        }
    }
}
