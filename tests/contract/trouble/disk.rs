//! A SQLite file that cannot be written: another process holds it, or the disk is full.

use std::process::Command;
use std::time::Duration;

use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use workhost_queue::{Beat, Finish, NewItem, Outcome, Pulse, QueueError, Recorded, Status, connect};

use crate::store::{LEASE, contract_on, new};

/// Where the process whose files may not grow finds the store to fill.
const FULL: &str = "WORKHOST_TEST_FULL_STORE";

fn large() -> NewItem {
    NewItem::new("a", serde_json::json!("x".repeat(10_000)).into())
}

contract_on! { Sqlite:
    async fn a_file_that_another_process_keeps_locked_is_unavailable(store) {
        let claim = store.running(new("a")).await;
        let path = store.url.strip_prefix("sqlite://").unwrap();
        let mut somebody = SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(path)).await.unwrap();
        sqlx::raw_sql("begin immediate").execute(&mut somebody).await.unwrap();
        let beat = [Beat { fence: claim.fence(), progress: None }];
        let finish = [Finish::new(claim.fence(), Outcome::Succeeded(None))];
        let other = store.host().await;
        let batch = [new("a")];
        let (enqueued, cancelled, beaten) = tokio::join!(
            store.queue.enqueue(&batch),
            other.cancel(claim.item.id),
            async { (store.get(claim.item.id).await, store.queue.heartbeat(&beat, LEASE).await) },
        );
        assert!(matches!(enqueued, Err(QueueError::Unavailable { .. })), "{enqueued:?}");
        assert!(matches!(cancelled, Err(QueueError::Unavailable { .. })), "{cancelled:?}");
        assert!(matches!(beaten.1, Err(QueueError::Unavailable { .. })), "{:?}", beaten.1);
        assert_eq!(beaten.0.status, Status::Running, "it still reads");
        sqlx::raw_sql("rollback").execute(&mut somebody).await.unwrap();
        assert_eq!(store.queue.heartbeat(&beat, LEASE).await.unwrap(), [Pulse::Alive]);
        assert_eq!(store.queue.finish(&finish).await.unwrap(), [Recorded::Recorded]);
        assert_eq!(store.number("select count(*) from work_items").await, 1);
    }

    async fn a_full_disk_is_unavailable_and_keeps_what_was_answered(store) {
        if let Ok(url) = std::env::var(FULL) {
            return fill_the_disk(&url).await;
        }
        // This test again, in a process whose files may not grow past 512 KiB: its writes fail in the same places.
        let child = Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f 1024; exec \"$0\" --exact --nocapture trouble::disk::a_full_disk_is_unavailable_and_keeps_what_was_answered"])
            .arg(std::env::current_exe().unwrap())
            .env(FULL, &store.url)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success(), "{told}{}", String::from_utf8_lossy(&child.stderr));
        let answered: i64 = told.split_once("answered: ").unwrap().1.lines().next().unwrap().parse().unwrap();
        assert!(answered > 0, "{told}");
        assert_eq!(store.number("select count(*) from work_items").await, answered);
        assert_eq!(store.number("select count(*) from pragma_integrity_check where integrity_check <> 'ok'").await, 0);
        store.enqueue(large()).await;
        assert_eq!(store.queue.recover_expired(3, 10).await.unwrap(), []);
        assert_eq!(store.number("select count(*) from work_items where status = 'running'").await, 1);
        assert_eq!(store.number("select count(*) from work_items where status = 'queued'").await, answered);
    }
}

/// Enqueues until there is no room, and tells how many were answered.
#[allow(clippy::print_stdout, reason = "the only way to tell the process that asked")]
async fn fill_the_disk(url: &str) {
    let queue = connect(url, Default::default()).await.unwrap();
    queue.enqueue(&[large()]).await.unwrap();
    let claim = queue.claim(&crate::store::ask("h", &[("a", 1)])).await.unwrap().pop().unwrap();
    let mut answered = 1;
    let refused = loop {
        match queue.enqueue(&[large()]).await {
            Ok(_) => answered += 1,
            Err(refused) => break refused,
        }
    };
    assert!(matches!(refused, QueueError::Unavailable { .. }), "{refused}");
    let finish = Finish::new(claim.fence(), Outcome::Succeeded(Some(large().payload)));
    let finished = tokio::time::timeout(Duration::from_secs(20), queue.finish(&[finish])).await.unwrap();
    assert!(matches!(finished, Err(QueueError::Unavailable { .. })), "{finished:?}");
    println!("answered: {answered}");
}
