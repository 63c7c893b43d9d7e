//! Guests that leave traces, each doing something else when its end comes.

use serde_json::{Value, json};
use workhost_queue::{ItemId, Json, NewItem, WorkItem};

use crate::harness::*;
use crate::http::server::Server;

/// A lease that a machine with other work to do does not miss.
pub(super) const WORKER: &str = "[worker]\nhost = \"test-host\"\npoll_interval = \"200ms\"\nheartbeat_interval = \"150ms\"\n\
    lease = \"20s\"\ncancel_grace = \"1s\"\nshutdown_grace = \"1s\"\nslots = 16\n";

/// What its items can leave traces at.
pub(super) struct Stage<'w> {
    pub(super) w: &'w Workshop,
    pub(super) server: Server,
}

/// One item of [`Stage::all`].
pub(super) struct Cast {
    pub(super) id: ItemId,
    /// What its guest does, for people.
    pub(super) name: &'static str,
    pub(super) part: Part,
}

/// What a guest does when its end comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// It hears nothing, and goes on for ever.
    Deaf,
    /// It tidies up once it is told, and returns `stopped`.
    Stops,
    /// It tidies up once it is told, and returns `done`.
    IsDone,
    /// It returns `done` the moment it is told or its file is there.
    Races,
}

impl<'w> Stage<'w> {
    /// A stage whose two kinds have these settings.
    pub(super) async fn new(w: &'w Workshop, worker: &str, witness: &str, bystander: &str) -> Stage<'w> {
        let server = Server::start();
        std::fs::create_dir(w.path("out")).unwrap();
        w.app.execute("create table traces (item bigint not null, number bigint not null, at bigint not null)").await;
        // Microseconds since 1970, by the same clock as that of the store.
        let (clock, wait) = match w.app.store {
            Store::Postgres => ("(extract(epoch from clock_timestamp()) * 1000000)::bigint", "select pg_sleep(600)"),
            Store::Sqlite => (
                "cast(round(unixepoch('subsec') * 1000) as integer) * 1000",
                "with recursive n (i) as (select 1 union all select i + 1 from n) select i from n where i < 0",
            ),
        };
        let statement =
            |name: &str, text: &str| format!("[handlers.sql.{name}]\ndatabase = \"app\"\nstatement = {text:?}\n");
        let kinds = format!(
            "[kinds.witness]\n{witness}\n[kinds.bystander]\n{bystander}\n[[handlers]]\ncomponent = {:?}\n\
             [[handlers.dirs]]\nguest = \"/out\"\npath = \"out\"\nmode = \"read-write\"\n\
             [handlers.http]\nallow = [{:?}]\n",
            component("guests/witness"),
            server.url("")
        );
        let trace = statement("trace", &format!("insert into traces values ({{id}}, $1, {clock})"));
        w.configure_with(worker, &(kinds + &trace + &statement("wait", wait)));
        w.queue().await.migrate().await.unwrap();
        Stage { w, server }
    }

    /// Enqueues an item that does this.
    pub(super) async fn enqueue(&self, kind: &str, mut does: Value) -> ItemId {
        does["server"] = json!(self.server.url(""));
        let item = NewItem::new(kind, Json::parse(does.to_string()).unwrap());
        self.w.queue().await.enqueue(&[item]).await.unwrap()[0].id()
    }

    /// One item for each thing that a guest can do, and all of them at it.
    pub(super) async fn all(&self) -> Vec<Cast> {
        let mut cast = Vec::new();
        for (name, part, does) in [
            ("computes", Part::Deaf, json!({ "does": "spin" })),
            ("waits for its clock", Part::Deaf, json!({ "does": "sleep" })),
            ("waits for a response", Part::Deaf, json!({ "does": "hang", "to": "http" })),
            ("waits for a statement", Part::Deaf, json!({ "does": "statement", "to": "sql" })),
            ("writes a file", Part::Deaf, json!({ "does": "ignore" })),
            ("sends requests", Part::Deaf, json!({ "does": "ignore", "to": "http" })),
            ("runs statements", Part::Deaf, json!({ "does": "ignore", "to": "sql" })),
            ("tidies up and stops", Part::Stops, json!({ "does": "tidy", "tidies_ms": 200 })),
            ("tidies up and is done", Part::IsDone, json!({ "does": "tidy", "ends": "done", "tidies_ms": 200 })),
            ("is done in the same moment", Part::Races, json!({ "does": "race" })),
        ] {
            let goes_on = does["does"] == "ignore" || does["does"] == "tidy";
            cast.push((Cast { id: self.enqueue("witness", does).await, name, part }, if goes_on { 10 } else { 1 }));
        }
        for (Cast { id, .. }, traces) in &cast {
            self.until_traces(*id, *traces).await;
        }
        cast.into_iter().map(|(cast, _)| cast).collect()
    }

    /// Lets a guest that races be done.
    pub(super) fn go(&self, id: ItemId) {
        self.w.write(&format!("out/go-{id}"), "");
    }

    /// The items as they are now.
    pub(super) async fn items(&self, cast: &[Cast]) -> Vec<WorkItem> {
        let queue = self.w.queue().await;
        let mut items = Vec::new();
        for Cast { id, .. } in cast {
            items.push(queue.get(*id).await.unwrap().unwrap());
        }
        items
    }
}

/// The one that races.
pub(super) fn racer(cast: &[Cast]) -> ItemId {
    cast.iter().find(|cast| cast.part == Part::Races).unwrap().id
}
