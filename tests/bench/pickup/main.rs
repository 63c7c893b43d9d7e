//! How soon an idle host starts an item, by who has enqueued it.
//!
//! `cargo xtask bench pickup` runs it. The time is `started_at - created_at`, by the database's own clock.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and ends where it cannot go on")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clap::Parser;
use comfy_table::{Table, presets};
use serde_json::json;
use tokio::time::sleep;
use workhost_queue::{ConnectOptions, ItemId, Json, NewItem, Queue, WorkItem, connect};

/// How soon an idle host starts an item
#[derive(Parser)]
struct Args {
    /// The program
    #[arg(long)]
    program: PathBuf,
    /// The folder of built components
    #[arg(long)]
    components: PathBuf,
    /// The URL of an empty PostgreSQL database; SQLite alone without
    #[arg(long)]
    postgres: Option<String>,
    /// Items per line; a command line's, a tenth of it
    #[arg(long, default_value_t = 200)]
    items: usize,
}

/// `workhost serve`; ended when dropped.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::main]
async fn main() {
    let args = Args::parse();
    let folder = tempfile::tempdir().unwrap();
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["store", "enqueued by", "min", "median", "95 %", "max"]);
    let sqlite = format!("sqlite://{}", folder.path().join("queue.db").display());
    for (name, url) in [("SQLite", Some(sqlite)), ("PostgreSQL", args.postgres.clone())] {
        let Some(url) = url else { continue };
        for (who, times) in measure(&args, folder.path(), &url).await {
            table.add_row([vec![name.to_owned(), who.to_owned()], summary(times)].concat());
        }
    }
    println!("{table}");
}

/// The times of each way to enqueue.
async fn measure(args: &Args, folder: &Path, url: &str) -> Vec<(&'static str, Vec<Duration>)> {
    let config = folder.join("workhost.toml");
    std::fs::write(&config, configuration(url, &args.components)).unwrap();
    let mut command = Command::new(&args.program);
    command.arg("--config").arg(&config).arg("serve").stdout(Stdio::null()).stderr(Stdio::null());
    let queue = connect(url, ConnectOptions::default()).await.unwrap();
    queue.migrate().await.unwrap();
    let _daemon = Daemon(command.spawn().unwrap());
    let echo = json!({ "message": "hi" });
    // The first waits for the daemon to be there.
    by_client(&*queue, "echo", &echo).await;
    let (mut host, mut client, mut command_line) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..args.items {
        let parent = by_client(&*queue, "fan-out", &json!({ "kind": "echo", "payload": echo })).await;
        let child = &parent.result.unwrap().to_value()["created"][0];
        host.push(took(&ended(&*queue, ItemId(child.as_i64().unwrap())).await));
        idle().await;
        client.push(took(&by_client(&*queue, "echo", &echo).await));
        idle().await;
        if round % 10 == 0 {
            let mut enqueue = Command::new(&args.program);
            enqueue.arg("--config").arg(&config).args(["enqueue", "echo", "--json", "--payload", &echo.to_string()]);
            let answer: serde_json::Value = serde_json::from_slice(&enqueue.output().unwrap().stdout).unwrap();
            command_line.push(took(&ended(&*queue, ItemId(answer["id"].as_i64().unwrap())).await));
            idle().await;
        }
    }
    vec![("a handler of the host", host), ("another process", client), ("`workhost enqueue`", command_line)]
}

fn configuration(url: &str, components: &Path) -> String {
    let component = |name: &str| components.join(format!("guests/{name}.wasm")).display().to_string();
    format!(
        "[store]\nurl = {url:?}\n[admin]\nlisten = \"127.0.0.1:0\"\n[kinds.echo]\n[kinds.fan-out]\n\
         [[handlers]]\ncomponent = {:?}\n[[handlers]]\ncomponent = {:?}\n[handlers.queue]\nkinds = [\"echo\"]\n",
        component("echo"),
        component("fan-out")
    )
}

async fn by_client(queue: &dyn Queue, kind: &str, payload: &serde_json::Value) -> WorkItem {
    let item = NewItem::new(kind, Json::from_value(payload));
    let id = queue.enqueue(&[item]).await.unwrap()[0].id();
    ended(queue, id).await
}

async fn ended(queue: &dyn Queue, id: ItemId) -> WorkItem {
    loop {
        let item = queue.get(id).await.unwrap().unwrap();
        if item.status.is_finished() {
            return item;
        }
        sleep(Duration::from_millis(2)).await;
    }
}

/// Lets the host come to rest, at no fixed distance from its own looks.
async fn idle() {
    sleep(Duration::from_millis(rand::random_range(20..120))).await;
}

fn took(item: &WorkItem) -> Duration {
    (item.started_at.unwrap() - item.created_at).try_into().unwrap_or_default()
}

fn summary(mut times: Vec<Duration>) -> Vec<String> {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    [0, 50, 95, 100].map(|share| format!("{:.1} ms", at(share).as_secs_f64() * 1e3)).to_vec()
}
