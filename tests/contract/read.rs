//! Reading items.

use workhost_queue::{Count, Filter, ItemId, Status};

use crate::store::{contract, new, scoped};

contract! {
    async fn lists_are_newest_first_and_paged(store) {
        let mut ids = Vec::new();
        for _ in 0..5 {
            ids.insert(0, store.enqueue(new("a")).await);
        }
        let page = |before, limit| Filter { before, limit, ..Filter::default() };
        let read = async |filter: Filter| -> Vec<ItemId> {
            store.queue.list(&filter).await.unwrap().iter().map(|item| item.id).collect()
        };
        assert_eq!(read(page(None, 0)).await, ids);
        assert_eq!(read(page(None, 2)).await, ids[..2]);
        assert_eq!(read(page(Some(ids[1]), 2)).await, ids[2..4]);
        assert_eq!(read(page(Some(ids[4]), 2)).await, []);
        assert_eq!(read(page(None, u32::MAX)).await, ids);
    }

    async fn lists_are_filtered_by_status_kind_and_scope(store) {
        let a = store.enqueue(scoped("a", "x")).await;
        let b = store.enqueue(scoped("b", "x")).await;
        let c = store.enqueue(scoped("a", "y")).await;
        store.queue.cancel(c).await.unwrap();
        let read = async |filter: Filter| -> Vec<ItemId> {
            store.queue.list(&filter).await.unwrap().iter().map(|item| item.id).collect()
        };
        assert_eq!(read(Filter { kind: Some("a".to_owned()), ..Filter::default() }).await, [c, a]);
        assert_eq!(read(Filter { scope: Some("x".to_owned()), ..Filter::default() }).await, [b, a]);
        assert_eq!(read(Filter { statuses: vec![Status::Cancelled], ..Filter::default() }).await, [c]);
        let statuses = vec![Status::Cancelled, Status::Queued];
        let filter = Filter { statuses, kind: Some("a".to_owned()), scope: Some("x".to_owned()), ..Filter::default() };
        assert_eq!(read(filter).await, [a]);
    }

    async fn counts_are_by_kind_and_status(store) {
        for kind in ["a", "a", "unknown", "a"] {
            store.enqueue(new(kind)).await;
        }
        store.claim("a").await.unwrap();
        let count = |kind: &str, status, count| Count { kind: kind.to_owned(), status, count };
        let expected =
            [count("a", Status::Queued, 2), count("a", Status::Running, 1), count("unknown", Status::Queued, 1)];
        assert_eq!(store.queue.counts().await.unwrap(), expected);
    }

    async fn an_unknown_item_is_none(store) {
        assert!(store.queue.get(ItemId(1)).await.unwrap().is_none());
        assert!(store.queue.get(ItemId(i64::MAX)).await.unwrap().is_none());
    }
}
