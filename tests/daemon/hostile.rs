//! Guests that do their worst, all on one daemon: each ends by name, and leaves nothing behind.

mod cases;
mod crowds;
mod refused;

use workhost_queue::{ItemId, Json, NewItem};

use crate::harness::*;
use cases::CASES;

#[tokio::test]
async fn each_hostile_guest_ends_by_name_and_leaves_nothing_behind() {
    let w = Workshop::new(Store::Sqlite).await;
    w.write("files/one.txt", "a folder to be granted");
    let handlers: String = CASES.iter().map(|case| case.configure(&w)).collect();
    w.configure_with(
        "[worker]\nhost = \"test-host\"\npoll_interval = \"200ms\"\nslots = 32\n",
        &(handlers + &guest("echo", "")),
    );
    let daemon = w.serve();

    // All at once: none keeps another from ending in time. What the daemon keeps for good, it has after this.
    let mut items = Vec::new();
    for case in CASES {
        items.push(enqueue(&w, case.kind, "{}").await);
    }
    for (case, id) in CASES.iter().zip(items) {
        case.check(&w.until_finished(id).await);
    }
    served(&w).await;
    let before = daemon.footprint_at_rest().await;

    for case in CASES {
        let id = enqueue(&w, case.kind, "{}").await;
        case.check(&w.until_finished(id).await);
        served(&w).await;
        daemon.settles_at(&before, case.kind);
    }
    assert_eq!(daemon.get("/healthz").0, 200);
    daemon.stop();
    let log = w.log();
    assert!(log.contains("lines dropped: more than 200 in a second"), "the flood was not thinned");
    for bad in ["thread 'guest", "thread 'host", "workhost itself failed"] {
        assert!(!log.contains(bad), "the host broke: {log}");
    }
}

/// An item of a handler that means no harm succeeds.
async fn served(w: &Workshop) {
    let id = enqueue(w, "echo", r#"{"message":"next"}"#).await;
    assert_eq!(result(&w.until_finished(id).await)["message"], "next");
}

/// Enqueues without the program, which would load all the handlers for it.
async fn enqueue(w: &Workshop, kind: &str, payload: &str) -> ItemId {
    let item = NewItem::new(kind, Json::parse(payload).unwrap());
    w.queue().await.enqueue(&[item]).await.unwrap()[0].id()
}
