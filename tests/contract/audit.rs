//! What people did.

use workhost_queue::{AuditPage, CancelAnswer, Deed, ItemId, Pausable, QueueError};

use crate::store::{Engine, TestStore, contract, new};

/// What was done, oldest first: who, what, to what.
async fn log(store: &TestStore) -> Vec<(Option<String>, String, String)> {
    let mut entries = store.queue.audit_log(&AuditPage::default()).await.unwrap();
    entries.reverse();
    entries.into_iter().map(|entry| (entry.actor, entry.action, entry.target)).collect()
}

fn line(actor: &str, action: &str, target: &str) -> (Option<String>, String, String) {
    (Some(actor.to_owned()), action.to_owned(), target.to_owned())
}

fn reload(actor: Option<&str>) -> Deed {
    Deed { actor: actor.map(str::to_owned), action: "reload".to_owned(), target: "registry".to_owned(), item: None }
}

contract! {
    async fn a_cancel_is_recorded_if_it_changed_something(store) {
        let queued = store.enqueue(new("a")).await;
        let running = store.running(new("b")).await.item.id;
        for _ in 0..2 {
            store.queue.cancel_by(queued, Some("ann")).await.unwrap();
            assert_eq!(store.queue.cancel_by(running, Some("bob")).await.unwrap(), CancelAnswer::Requested);
            store.queue.cancel_by(ItemId(999), Some("eve")).await.unwrap();
        }
        let nobody = store.enqueue(new("a")).await;
        store.queue.cancel(nobody).await.unwrap();
        let unnamed = (None, "cancel".to_owned(), format!("item {nobody}"));
        assert_eq!(log(&store).await, [
            line("ann", "cancel", &format!("item {queued}")),
            line("bob", "cancel", &format!("item {running}")),
            unnamed,
        ]);
        let of_item = store.queue.audit_log(&AuditPage { item: Some(running), ..AuditPage::default() }).await.unwrap();
        assert_eq!((of_item.len(), of_item[0].item), (1, Some(running)));
    }

    async fn pauses_are_recorded_if_they_changed_something(store) {
        let work = Pausable::Schedule { kind: "a".to_owned(), scope: Some("s".to_owned()) };
        for _ in 0..2 {
            store.queue.pause(&work, Some("ann")).await.unwrap();
        }
        for _ in 0..2 {
            store.queue.resume(&work, Some("bob")).await.unwrap();
        }
        assert_eq!(log(&store).await, [line("ann", "pause", "schedule a/s"), line("bob", "resume", "schedule a/s")]);
    }

    async fn what_cannot_be_recorded_is_not_done(store) {
        let id = store.enqueue(new("a")).await;
        let work = Pausable::Kind { kind: "a".to_owned() };
        store.queue.pause(&work, None).await.unwrap();
        store.sql("drop table audit").await;
        assert!(store.queue.cancel_by(id, Some("ann")).await.is_err());
        assert!(store.queue.resume(&work, Some("ann")).await.is_err());
        assert!(store.queue.pause(&Pausable::Kind { kind: "b".to_owned() }, Some("ann")).await.is_err());
        assert!(store.get(id).await.finished_at.is_none());
        assert_eq!(store.queue.paused().await.unwrap().len(), 1);
    }

    async fn it_is_read_in_pages_newest_first(store) {
        for actor in ["a", "b", "c"] {
            store.queue.audit(&reload(Some(actor))).await.unwrap();
        }
        let page = |before| AuditPage { before, limit: 2, ..AuditPage::default() };
        let first = store.queue.audit_log(&page(None)).await.unwrap();
        let second = store.queue.audit_log(&page(Some(first[1].id))).await.unwrap();
        let actors: Vec<_> = first.iter().chain(&second).map(|entry| entry.actor.as_deref().unwrap()).collect();
        assert_eq!((actors.as_slice(), first.len()), (["c", "b", "a"].as_slice(), 2));
    }

    async fn it_forgets_after_400_days(store) {
        for actor in ["outdated", "kept"] {
            store.queue.audit(&reload(Some(actor))).await.unwrap();
        }
        let days = |days: u32| match store.engine {
            Engine::Postgres => format!("interval '{days} days'"),
            Engine::Sqlite => format!("{days} * 86400000"),
        };
        store.sql(format!("update audit set at = at - {} where actor = 'outdated'", days(401))).await;
        store.sql(format!("update audit set at = at - {} where actor = 'kept'", days(399))).await;
        store.queue.audit(&reload(Some("new"))).await.unwrap();
        let actors: Vec<_> = log(&store).await.into_iter().map(|(actor, ..)| actor.unwrap()).collect();
        assert_eq!(actors, ["kept", "new"]);
    }

    async fn a_name_past_its_limit_is_refused(store) {
        let long = "n".repeat(257);
        let id = store.enqueue(new("a")).await;
        let refused = [
            store.queue.audit(&reload(Some(&long))).await,
            store.queue.audit(&reload(Some(""))).await,
            store.queue.cancel_by(id, Some(&long)).await.map(drop),
            store.queue.pause(&Pausable::Kind { kind: "a".to_owned() }, Some("\0")).await.map(drop),
        ];
        for answer in refused {
            assert!(matches!(answer, Err(QueueError::Invalid { field: "actor", .. })), "{answer:?}");
        }
        assert!(store.get(id).await.finished_at.is_none());
    }
}
