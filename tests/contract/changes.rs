//! Following what changes.

use std::time::Duration;

use workhost_queue::{Beat, Changes, Cursor, Finish, ItemId, Outcome, Pausable};

use crate::store::{LEASE, TestStore, ask, contract, contract_on, json, keyed, new};

/// A reader who goes on from cursor to cursor.
struct Reader<'s> {
    store: &'s TestStore,
    cursor: Cursor,
}

impl Reader<'_> {
    async fn new(store: &TestStore) -> Reader<'_> {
        match store.queue.changes_since(None, 10).await.unwrap() {
            Changes::Resync { cursor } => Reader { store, cursor },
            Changes::Items { .. } => panic!("without a cursor there is nothing to go on from"),
        }
    }

    /// The items of the next page; `None` where everything must be read anew.
    async fn page(&mut self, limit: u32) -> Option<Vec<ItemId>> {
        // Through text, as a page in a browser would hand it back.
        let since = self.cursor.to_string().parse().unwrap();
        match self.store.queue.changes_since(Some(since), limit).await.unwrap() {
            Changes::Items { items, cursor } => {
                self.cursor = cursor;
                Some(items.iter().map(|item| item.id).collect())
            }
            Changes::Resync { cursor } => {
                self.cursor = cursor;
                None
            }
        }
    }

    /// What one verb changed. On PostgreSQL it may wait for transactions of tests beside this one.
    async fn told(&mut self) -> Vec<ItemId> {
        for _ in 0..1000 {
            let told = self.page(100).await.expect("nothing is forgotten");
            if !told.is_empty() {
                return told;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Vec::new()
    }
}

contract! {
    async fn what_a_reader_has_heard_may_be_forgotten(store) {
        let mut reader = Reader::new(&store).await;
        let claim = store.running(new("a")).await;
        let id = claim.item.id;
        store.queue.finish(&[Finish::new(claim.fence(), Outcome::Succeeded(None))]).await.unwrap();
        assert_eq!(reader.told().await, [id]);
        store.age(id, "finished_at", LEASE).await;
        assert_eq!(store.queue.delete_finished(None, Duration::from_secs(1), 10).await.unwrap(), Some(1));
        assert_eq!(reader.page(10).await, Some(Vec::new()));
    }

    async fn each_visible_change_is_told(store) {
        let mut reader = Reader::new(&store).await;
        let id = store.enqueue(keyed("a", "k")).await;
        assert_eq!(reader.told().await, [id], "enqueued");
        let claim = store.claim("a").await.unwrap();
        assert_eq!(reader.told().await, [id], "claimed");
        let beat = Beat { fence: claim.fence(), progress: Some(json("1")) };
        store.queue.heartbeat(&[beat], LEASE).await.unwrap();
        assert_eq!(reader.told().await, [id], "progress");
        store.queue.finish(&[Finish::new(claim.fence(), Outcome::Released)]).await.unwrap();
        assert_eq!(reader.told().await, [id], "finished");
        let other = store.host().await;
        other.claim(&ask("b", &[("a", 1)])).await.unwrap().pop().unwrap();
        assert_eq!(reader.told().await, [id], "claimed again");
        store.expire(id).await;
        store.queue.recover_expired(3, 10).await.unwrap();
        assert_eq!(reader.told().await, [id], "recovered");
        store.queue.cancel(id).await.unwrap();
        assert_eq!(reader.told().await, [id], "cancelled");
    }

    async fn what_nobody_sees_is_not_told(store) {
        let claim = store.running(new("a")).await;
        let beat = |progress: Option<&str>| Beat { fence: claim.fence(), progress: progress.map(json) };
        store.queue.heartbeat(&[beat(Some("1"))], LEASE).await.unwrap();
        let mut reader = Reader::new(&store).await;
        // Until all that came before lies before the horizon.
        let mark = store.enqueue(new("b")).await;
        while !reader.told().await.contains(&mark) {}
        store.queue.heartbeat(&[beat(None)], LEASE).await.unwrap();
        store.queue.heartbeat(&[beat(Some("1"))], LEASE).await.unwrap();
        store.queue.pause(&Pausable::Kind { kind: "b".to_owned() }, None).await.unwrap();
        let last = store.enqueue(new("b")).await;
        let mut told = Vec::new();
        while !told.contains(&last) {
            told.extend(reader.told().await);
        }
        assert_eq!(told, [last]);
    }

    async fn pages_miss_nothing_and_repeat_nothing(store) {
        let mut reader = Reader::new(&store).await;
        // One transaction, so one change on PostgreSQL: pages end in the midst of it.
        let ids: Vec<_> = store.queue.enqueue(&vec![new("a"); 7]).await.unwrap().iter().map(|e| e.id()).collect();
        let mut told = Vec::new();
        for _ in 0..1000 {
            let page = reader.page(3).await.unwrap();
            assert!(page.len() <= 3);
            told.extend(page);
            if told.len() >= ids.len() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(told, ids);
        assert_eq!(reader.page(3).await.unwrap(), []);
    }

    async fn an_item_that_is_gone_before_it_was_told_is_a_resync(store) {
        let mut early = Reader::new(&store).await;
        let id = store.enqueue(new("a")).await;
        store.queue.cancel(id).await.unwrap();
        let mut late = Reader::new(&store).await;
        while late.page(9).await.unwrap().contains(&id) {}
        // Until both changes lie before the horizon.
        let mark = store.enqueue(new("b")).await;
        while !late.page(9).await.unwrap().contains(&mark) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        store.age(id, "finished_at", Duration::from_secs(9)).await;
        assert_eq!(store.queue.delete_finished(None, Duration::from_secs(5), 10).await.unwrap(), Some(1));
        assert_eq!(early.page(9).await, None, "it never heard of the item");
        assert_eq!(late.page(9).await.as_deref(), Some([].as_slice()), "it had heard all that there was");
        let next = store.enqueue(new("a")).await;
        assert_eq!(late.told().await, [next]);
        assert!(early.told().await.contains(&next));
    }

    async fn a_cursor_of_another_store_is_a_resync(store) {
        store.enqueue(new("a")).await;
        let mut reader = Reader { store: &store, cursor: "9000000000000-0".parse().unwrap() };
        assert_eq!(reader.page(9).await, None);
        let id = store.enqueue(new("a")).await;
        assert!(reader.told().await.contains(&id));
    }
}

contract_on! { Postgres:
    async fn a_transaction_that_commits_late_is_told_though_later_ones_came_first(store) {
        let mut reader = Reader::new(&store).await;
        let mut open = store.pg().begin().await.unwrap();
        let late: i64 = sqlx::query_scalar("select id from workhost.enqueue('late', '{}')").fetch_one(&mut *open).await.unwrap();
        let early = store.enqueue(new("early")).await;
        let mut told = Vec::new();
        for _ in 0..20 {
            told.extend(reader.page(100).await.unwrap());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        open.commit().await.unwrap();
        while told.len() < 2 {
            told.extend(reader.told().await);
        }
        assert_eq!(told, [ItemId(late), early]);
    }

    async fn racing_writers_hide_nothing_from_a_reader(store) {
        let mut reader = Reader::new(&store).await;
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..4 {
            let queue = store.host().await;
            writers.spawn(async move {
                let mut ids = Vec::new();
                for batch in 0..20 {
                    let items = vec![new("a"); 1 + (batch * 7 + writer) % 30];
                    ids.extend(queue.enqueue(&items).await.unwrap().iter().map(|e| e.id()));
                }
                ids
            });
        }
        let mut told = std::collections::BTreeSet::new();
        let mut written = std::collections::BTreeSet::new();
        while let Some(ids) = {
            told.extend(reader.page(40).await.unwrap());
            if writers.is_empty() { None } else { Some(writers.try_join_next()) }
        } {
            written.extend(ids.map(Result::unwrap).unwrap_or_default());
        }
        while told.len() < written.len() {
            told.extend(reader.told().await);
        }
        assert_eq!(told, written);
    }
}
