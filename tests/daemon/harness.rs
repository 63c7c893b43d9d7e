//! A workshop: a folder with a configuration, a store of its own, and the program.

mod daemon;
mod database;
mod footprint;
mod held;
mod journal;
mod left_out;
mod mounted;
pub(crate) mod network;
pub(crate) mod proxy;
#[expect(dead_code, reason = "what is there for the contract of the queue")]
#[path = "../contract/replicated.rs"]
pub(crate) mod replicated;
pub(crate) mod text;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use workhost_queue::{ConnectOptions, ItemId, Json, NewItem, Queue, Status, WorkItem, connect};

pub(crate) use daemon::{Daemon, Launch};
pub(crate) use database::{AppDatabase, Store};
pub(crate) use journal::{JournalStep, endless, must_be_one_at_a_time, steps};
pub(crate) use left_out::left_out;
pub(crate) use mounted::Mounted;

/// How long anything may take before a test gives up on it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Stands in every secret of these tests.
pub(crate) const SECRET_MARK: &str = "geheim-";

/// What the tests' own connections to the store are called.
pub(crate) const TESTS: &str = "workhost-tests";

/// Timings under which a lease runs out within a second, yet a loaded machine keeps up.
const WORKER: &str = "[worker]\nhost = \"test-host\"\npoll_interval = \"200ms\"\nheartbeat_interval = \"150ms\"\n\
    lease = \"2s\"\ncancel_grace = \"1s\"\nshutdown_grace = \"2s\"\n";

/// The lease of [`WORKER`].
pub(crate) const LEASE: Duration = Duration::from_secs(2);

/// The timings of all these tests, for one of several hosts.
pub(crate) fn worker(host: &str) -> String {
    WORKER.replace("test-host", host)
}

/// Makes one test for each store out of an async function over a [`Workshop`].
macro_rules! on_both_stores {
    ($($(#[$attribute:meta])* async fn $name:ident($workshop:ident: Workshop) $body:block)+) => {$(
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            $(#[$attribute])*
            async fn claim($workshop: Workshop) $body

            #[tokio::test]
            async fn sqlite() { claim(Workshop::new(Store::Sqlite).await).await }

            #[tokio::test]
            async fn postgres() { claim(Workshop::new(Store::Postgres).await).await }
        }
    )+};
}
pub(crate) use on_both_stores;

pub(crate) struct Workshop {
    folder: TempDir,
    store_url: String,
    /// The application's own database, of the same sort as the store.
    pub(crate) app: AppDatabase,
}

impl Workshop {
    pub(crate) async fn new(store: Store) -> Workshop {
        let folder = tempfile::tempdir().unwrap();
        let store_url = database::create(store, folder.path(), "store").await;
        let app = AppDatabase::create(store, folder.path()).await;
        Workshop { folder, store_url, app }
    }

    /// A workshop whose store is a PostgreSQL database that is there already.
    pub(crate) async fn with_store(store_url: String) -> Workshop {
        let folder = tempfile::tempdir().unwrap();
        let app = AppDatabase::create(Store::Sqlite, folder.path()).await;
        Workshop { folder, store_url, app }
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Writes a configuration whose store, databases and timings are set, with these kinds and handlers.
    pub(crate) fn configure(&self, kinds_and_handlers: &str) -> &Workshop {
        self.configure_with(WORKER, kinds_and_handlers)
    }

    pub(crate) fn configure_with(&self, worker: &str, kinds_and_handlers: &str) -> &Workshop {
        self.configure_host("workhost", worker, kinds_and_handlers)
    }

    /// Writes the configuration of one of several hosts on the same store; [`Launch`] names it.
    pub(crate) fn configure_host(&self, host: &str, worker: &str, kinds_and_handlers: &str) -> &Workshop {
        self.configure_host_by(&self.store_url, host, worker, kinds_and_handlers)
    }

    /// The same for a host that reaches the store in another way.
    pub(crate) fn configure_host_by(
        &self,
        store_url: &str,
        host: &str,
        worker: &str,
        kinds_and_handlers: &str,
    ) -> &Workshop {
        let text = format!(
            "[store]\nurl = {store_url:?}\n{worker}\n[admin]\nlisten = \"127.0.0.1:0\"\n[databases.app]\nurl = {:?}\n{kinds_and_handlers}",
            self.app.url
        );
        self.write(&format!("{host}.toml"), text);
        self
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let output = daemon::command(self).args(arguments).output().unwrap();
        for said in [&output.stdout, &output.stderr] {
            self.must_hold_no_secret(&String::from_utf8_lossy(said));
        }
        output
    }

    /// In whatever test: a text that people read holds no password of a database, and nothing that is marked as a secret.
    fn must_hold_no_secret(&self, text: &str) {
        let password = self.store_url.split_once("://").and_then(|(_, rest)| rest.split_once('@'));
        let password = password.and_then(|(login, _)| login.split_once(':')).map(|(_, password)| password);
        for secret in [SECRET_MARK].into_iter().chain(password) {
            assert!(!text.contains(secret), "a secret was told: {text}");
        }
    }

    /// Runs the program to its end by way of another one, such as one that takes something away from it.
    pub(crate) fn run_under(&self, wrapper: &[&str], arguments: &[&str]) -> Output {
        daemon::command_under(self, wrapper).args(arguments).output().unwrap()
    }

    /// Runs the program with a standard output that nobody reads.
    pub(crate) fn run_closed(&self, arguments: &[&str]) -> Output {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        daemon::command(self)
            .args(arguments)
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap()
    }

    /// The program with these arguments, not yet started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = daemon::command(self);
        command.args(arguments);
        command
    }

    /// Runs the program, which must succeed, and answers its standard output.
    pub(crate) fn run_ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }

    /// Runs the program, which must fail with status 1, and answers all it said.
    pub(crate) fn run_refused(&self, arguments: &[&str]) -> String {
        self.run_to(1, arguments)
    }

    /// Runs the program, which must end with this status, and answers all it said.
    pub(crate) fn run_to(&self, status: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{said}");
        said
    }

    pub(crate) fn serve(&self) -> Daemon {
        Daemon::start(self, Launch::default())
    }

    /// Starts a daemon in some other way.
    pub(crate) fn launch(&self, launch: Launch<'_>) -> Daemon {
        Daemon::start(self, launch)
    }

    pub(crate) fn enqueue(&self, kind: &str, more: &[&str]) -> ItemId {
        let mut arguments = vec!["enqueue", kind, "--json"];
        arguments.extend(more);
        let answer: Value = serde_json::from_str(&self.run_ok(&arguments)).unwrap();
        ItemId(answer["id"].as_i64().unwrap())
    }

    /// Enqueues without the program, into a store that a daemon has made ready.
    pub(crate) async fn add(&self, items: &[NewItem]) -> Vec<ItemId> {
        self.queue().await.enqueue(items).await.unwrap().iter().map(|answer| answer.id()).collect()
    }

    pub(crate) async fn queue(&self) -> Arc<dyn Queue> {
        let options = ConnectOptions { application_name: TESTS.to_owned(), ..ConnectOptions::default() };
        connect(&self.store_url, options).await.unwrap()
    }

    pub(crate) async fn item(&self, id: ItemId) -> WorkItem {
        self.queue().await.get(id).await.unwrap().unwrap()
    }

    /// Waits until the item is as described.
    pub(crate) async fn until(&self, id: ItemId, what: &str, is: impl Fn(&WorkItem) -> bool) -> WorkItem {
        let queue = self.queue().await;
        let start = Instant::now();
        loop {
            let item = queue.get(id).await.unwrap().unwrap();
            if is(&item) {
                return item;
            }
            assert!(start.elapsed() < PATIENCE, "item {id} is not {what}: {item:#?}\n{}", self.logs());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn until_finished(&self, id: ItemId) -> WorkItem {
        self.until(id, "finished", |item| item.status.is_finished()).await
    }

    /// Waits for an item of a periodic kind to end.
    pub(crate) async fn first_of_kind(&self, kind: &str) -> WorkItem {
        // No item has this number.
        self.until_another(kind, ItemId(0)).await
    }

    /// Waits for an item of this kind other than that one to end.
    pub(crate) async fn until_another(&self, kind: &str, than: ItemId) -> WorkItem {
        let queue = self.queue().await;
        let filter = workhost_queue::Filter { kind: Some(kind.into()), ..Default::default() };
        let start = Instant::now();
        loop {
            if let Some(item) = queue.list(&filter).await.unwrap().into_iter().find(|item| item.id != than) {
                return self.until_finished(item.id).await;
            }
            assert!(start.elapsed() < PATIENCE, "no other item of kind {kind}\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The store's URL.
    pub(crate) fn store_url(&self) -> &str {
        &self.store_url
    }

    /// Runs statements in the store's own database.
    pub(crate) async fn execute(&self, sql: &str) {
        database::execute(&self.store_url, sql).await;
    }

    /// The number that this query answers in the store.
    pub(crate) async fn count(&self, query: &str) -> i64 {
        database::count(&self.store_url, query).await
    }

    /// Gives a running item to a later attempt of another host, and answers the number that this query answers at that moment.
    pub(crate) async fn take_away(&self, id: ItemId, query: &str) -> i64 {
        database::take_away(&self.store_url, id.0, query).await
    }

    /// Lets a queued item run now instead of at its time.
    pub(crate) async fn make_due(&self, id: ItemId) {
        database::make_due(&self.store_url, id.0).await;
    }

    /// Moves an item's times back by so many days.
    pub(crate) async fn age(&self, id: ItemId, days: u32) {
        database::age(&self.store_url, id.0, days).await;
    }

    /// What the daemons of this workshop logged.
    pub(crate) fn log(&self) -> String {
        self.log_of("workhost")
    }

    /// Waits until a host has logged this more than so many times.
    pub(crate) async fn until_logged(&self, host: &str, words: &str, times: usize) {
        let start = Instant::now();
        while self.log_of(host).matches(words).count() <= times {
            assert!(start.elapsed() < PATIENCE, "`{words}` is not in the log:\n{}", self.log_of(host));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until this query answers that number.
    pub(crate) async fn until_count(&self, query: &str, number: i64) {
        let start = Instant::now();
        while self.count(query).await != number {
            assert!(start.elapsed() < PATIENCE, "not {number}: {query}\n{}", self.logs());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// What all hosts logged.
    pub(crate) fn logs(&self) -> String {
        let logs = std::fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let logs = logs.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
        logs.map(|path| format!("{}:\n{}\n", path.display(), std::fs::read_to_string(&path).unwrap())).collect()
    }

    /// What one of several hosts logged.
    pub(crate) fn log_of(&self, host: &str) -> String {
        std::fs::read_to_string(self.path(format!("{host}.log"))).unwrap_or_default()
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            for entry in std::fs::read_dir(self.folder.path()).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|extension| extension == "log") {
                    self.must_hold_no_secret(&std::fs::read_to_string(path).unwrap());
                }
            }
        }
    }
}

pub(crate) fn result(item: &WorkItem) -> Value {
    assert_eq!(item.status, Status::Succeeded, "{item:#?}");
    item.result.as_ref().map(|json| json.to_value()).unwrap_or_default()
}

pub(crate) fn progress(item: &WorkItem) -> Value {
    item.progress.as_ref().map(|json| json.to_value()).unwrap_or_default()
}

/// A new item of this kind.
pub(crate) fn new_item(kind: &str, payload: &Value) -> NewItem {
    NewItem::new(kind, Json::parse(payload.to_string()).unwrap())
}

/// A built component, by its name without `.wasm`.
pub(crate) fn component(name: &str) -> String {
    let folder = std::env::var("WORKHOST_TEST_COMPONENTS").expect("the components are missing: run `cargo xtask test`");
    let path = PathBuf::from(folder).join(format!("{name}.wasm"));
    assert!(path.exists(), "{} is missing: run `cargo xtask handlers`", path.display());
    path.display().to_string()
}

/// `[kinds.NAME]` with these settings, and the guest of the same name as its handler.
pub(crate) fn guest(name: &str, settings: &str) -> String {
    format!("[kinds.{name}]\n{settings}\n[[handlers]]\ncomponent = {:?}\n", component(&format!("guests/{name}")))
}
