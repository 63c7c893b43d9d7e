//! The handlers that ship with workhost, at their real work.

use std::time::Duration;

use serde_json::json;
use workhost_queue::{Claim, ClaimRequest, Finish, ItemId, Json, KindSlots, LastChances, NewItem, Outcome, Status};

use crate::harness::*;

/// Tokens that expire around a cutoff, to the microsecond, in a table of the application's.
async fn tokens_around_noon(w: &Workshop) {
    let time = match w.app.store {
        Store::Sqlite => "text",
        Store::Postgres => "timestamptz",
    };
    w.app.execute(&format!("create table refresh_tokens (id text primary key, expires_at {time} not null)")).await;
    w.app
        .execute(
            "insert into refresh_tokens values
                ('long-gone', '2020-01-01T00:00:00.000000Z'),
                ('just-gone', '2026-01-31T11:59:59.999999Z'),
                ('at-the-cutoff', '2026-01-31T12:00:00.000000Z'),
                ('just-alive', '2026-01-31T12:00:00.000001Z'),
                ('far', '2999-01-01T00:00:00.000000Z')",
        )
        .await;
}

fn token_cleanup(settings: &str) -> String {
    format!(
        "[kinds.token-cleanup]\n{settings}\n[[handlers]]\ncomponent = {:?}\n[handlers.sql.delete-expired-tokens]\n\
         database = \"app\"\nstatement = \"delete from refresh_tokens where expires_at < $1\"\n",
        component("token-cleanup")
    )
}

fn retention(settings: &str, min_days: u32) -> String {
    format!(
        "[kinds.work-item-retention]\n{settings}\n[[handlers]]\ncomponent = {:?}\nretention = {{ min_days = {min_days} }}\n",
        component("work-item-retention")
    )
}

/// Runs an item of kind `done` to a success by the queue's own verbs, and makes it that old.
async fn finished_days_ago(w: &Workshop, days: u32) -> ItemId {
    let queue = w.queue().await;
    queue.migrate().await.unwrap();
    let id = queue.enqueue(&[NewItem::new("done", Json::parse("{}").unwrap())]).await.unwrap()[0].id();
    let kinds = vec![KindSlots { kind: "done".into(), slots: 1, handler_digest: "sha256:0".into() }];
    let request = ClaimRequest {
        host: "h/1".into(),
        kinds,
        scopes: None,
        limit: 1,
        lease: Duration::from_secs(60),
        last_chances: LastChances::default(),
    };
    let claims: Vec<Claim> = queue.claim(&request).await.unwrap();
    let fence = claims[0].fence();
    assert_eq!(fence.id, id);
    queue.finish(&[Finish::new(fence, Outcome::Succeeded(None))]).await.unwrap();
    w.age(id, days).await;
    id
}

on_both_stores! {
    async fn a_token_that_expires_exactly_at_the_cutoff_stays(w: Workshop) {
        tokens_around_noon(&w).await;
        w.configure(&token_cleanup(""));
        let daemon = w.serve();
        let id = w.enqueue("token-cleanup", &["--payload", r#"{"before": "2026-01-31T12:00:00Z"}"#]);
        assert_eq!(result(&w.until_finished(id).await)["deleted"], json!(2));
        let left = w.app.texts("select id from refresh_tokens order by id").await;
        assert_eq!(left, ["at-the-cutoff", "far", "just-alive"]);
        daemon.stop();
    }

    async fn token_cleanup_is_due_at_once_and_then_not_for_a_day(w: Workshop) {
        tokens_around_noon(&w).await;
        w.configure(&token_cleanup("every = \"24h\""));
        let daemon = w.serve();
        let item = w.first_of_kind("token-cleanup").await;
        assert_eq!(result(&item)["deleted"], json!(4), "the cutoff is now");
        daemon.stop();
        // A restart does not make it due again.
        let daemon = w.serve();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(w.queue().await.list(&Default::default()).await.unwrap().len(), 1);
        w.age(item.id, 1).await;
        let again = w.until_another("token-cleanup", item.id).await;
        assert_eq!(result(&again)["deleted"], json!(0));
        daemon.stop();
    }

    async fn retention_deletes_what_finished_long_ago_and_nothing_else(w: Workshop) {
        let mut old = Vec::new();
        for _ in 0..3 {
            old.push(finished_days_ago(&w, 31).await);
        }
        let young = finished_days_ago(&w, 29).await;
        let queued = w.queue().await.enqueue(&[NewItem::new("done", Json::parse("{}").unwrap())]).await.unwrap()[0].id();
        w.configure(&retention("every = \"24h\"", 7));
        let daemon = w.serve();
        let item = w.first_of_kind("work-item-retention").await;
        assert_eq!(result(&item), json!({ "deleted": 3, "older_than_days": 30 }));
        let queue = w.queue().await;
        for id in old {
            assert!(queue.get(id).await.unwrap().is_none());
        }
        assert!(queue.get(young).await.unwrap().is_some() && queue.get(queued).await.unwrap().is_some());
        daemon.stop();
    }

    async fn retention_below_what_was_granted_fails_and_deletes_nothing(w: Workshop) {
        let old = finished_days_ago(&w, 31).await;
        w.configure(&retention("", 40));
        let daemon = w.serve();
        let id = w.enqueue("work-item-retention", &["--payload", r#"{"older_than_days": 30}"#]);
        let item = w.until_finished(id).await;
        assert_eq!(item.status, Status::Failed);
        assert!(item.error.unwrap().contains("40"));
        w.item(old).await;
        daemon.stop();
    }
}

/// The configuration of a crawl over `files/{scope}` of the workshop, with its tables in the application's database.
pub(crate) async fn crawl(w: &Workshop) -> String {
    let schema = match w.app.store {
        Store::Sqlite => include_str!("../../handlers/crawl/schema.sqlite.sql"),
        Store::Postgres => include_str!("../../handlers/crawl/schema.postgres.sql"),
    };
    let statements = include_str!("../../handlers/crawl/statements.toml");
    w.app.execute(schema).await;
    format!(
        "[kinds.crawl]\nscope = \"required\"\n[[handlers]]\ncomponent = {:?}\n\
         dirs = [{{ guest = \"/scope\", path = \"files/{{scope}}\" }}]\n{statements}",
        component("crawl")
    )
}

/// Makes this many small files in folders of twenty.
pub(crate) fn make_files(w: &Workshop, scope: &str, count: u32) {
    for number in 0..count {
        w.write(
            &format!("files/{scope}/{:04}/{number:06}.txt", number / 20),
            format!("file {number} {}", "x".repeat(3000)),
        );
    }
}
