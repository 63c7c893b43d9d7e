//! The catalogue of a soak, the items that are drawn from it, and the failures that they mean.

use std::time::Duration;

use rand::RngExt as _;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use workhost_queue::NewItem;

use crate::run::plan::{LEASE, MAX_STALLS, Plan, SHUTDOWN_GRACE};

/// The periodic kind.
pub(crate) const TICK: &str = "diary-tick";
/// The kind of which a host runs one at a time.
pub(crate) const SINGLE: &str = "diary-single";
/// What the items of `fail`, `panic` and of the diary's kinds fail with.
const AS_PLANNED: &str = "as its payload says";

/// How often a failed item of a kind is tried again.
pub(crate) fn retries(kind: &str) -> u32 {
    match kind {
        "diary" | "diary-scoped" | "fail" => 1,
        _ => 0,
    }
}

/// Whether items of this kind note in the diary what they do.
pub(crate) fn keeps_diary(kind: &str) -> bool {
    kind.starts_with("diary")
}

/// Whether an item of this kind can fail with this error, going by what was asked of it.
pub(crate) fn can_fail_with(kind: &str, error: &str) -> bool {
    match kind {
        "diary" | "diary-scoped" | SINGLE | "fail" | "panic" => error.contains(AS_PLANNED),
        "spin" | "sleep" => error == "timeout of 1s",
        "greedy" => error.contains("memory limit of 32 MiB"),
        _ => false,
    }
}

/// How many items of a kind may be open. Where all fail at once, hosts take one at a time, up to half a minute apart.
pub(in crate::run) fn most_open(kind: &str) -> u64 {
    match kind {
        "fail" | "panic" | "greedy" => 2,
        _ => u64::MAX,
    }
}

/// An item to enqueue.
pub(super) fn draw(choices: &mut StdRng) -> NewItem {
    let (kind, payload): (&str, Value) = match choices.random_range(0..100) {
        0..30 => ("diary", entry(choices, 0.15)),
        30..58 => ("diary-scoped", entry(choices, 0.02)),
        58..68 => (SINGLE, entry(choices, 0.0)),
        68..78 => ("echo", json!({ "message": "hello" })),
        78..86 => ("slow", json!({ "steps": choices.random_range(1..20), "step_ms": 50 })),
        86..92 => ("fail", json!({ "message": AS_PLANNED, "permanent": choices.random_bool(0.3) })),
        92..95 => ("panic", json!({ "message": AS_PLANNED })),
        95..97 => ("greedy", json!({})),
        97..99 => ("sleep", json!({})),
        _ => ("spin", json!({})),
    };
    let mut item = NewItem::new(kind, payload.into());
    if kind == "diary-scoped" {
        item.scope = Some(format!("s{}", choices.random_range(0..4)));
    }
    if choices.random_bool(0.2) {
        item.dedup_key = Some(format!("k{}", choices.random_range(0..5)));
    }
    if choices.random_bool(0.3) {
        item.priority = choices.random_range(-2..=2);
    }
    if choices.random_bool(0.1) {
        item.delay = Duration::from_millis(choices.random_range(200..5000));
    }
    item
}

/// What is long takes longer than a lease, and half of that starts over each time: it still runs when its host has lost it,
/// and another host is long at it when something comes late.
fn entry(choices: &mut StdRng, long: f64) -> Value {
    let then = match choices.random_range(0..100) {
        0..88 => "end",
        88..96 => "fail",
        _ => "panic",
    };
    let is_long = choices.random_bool(long);
    let steps = if is_long { choices.random_range(70..120) } else { choices.random_range(1..10) };
    let (step_ms, deaf) = (choices.random_range(50..100), choices.random_bool(0.1));
    let afresh = is_long && choices.random_bool(0.5);
    json!({ "steps": steps, "step_ms": step_ms, "then": then, "deaf": deaf, "afresh": afresh })
}

/// A host's configuration. `edition` makes one that a reload finds changed.
pub(crate) fn configuration(plan: &Plan, host: &str, store_url: &str, edition: u64) -> String {
    let seconds = |duration: Duration| format!("{}s", duration.as_secs());
    let guest = |name: &str| plan.components.join(format!("guests/{name}.wasm")).display().to_string();
    let (lease, grace, long) = (seconds(LEASE), seconds(SHUTDOWN_GRACE), 600 + edition);
    let kind = |name: &str, more: &str| format!("[kinds.{name}]\n{more}\n");
    let mut text = format!(
        "[store]\nurl = {store_url:?}\n\
         [worker]\nhost = {host:?}\nslots = 8\npoll_interval = \"300ms\"\nheartbeat_interval = \"300ms\"\n\
         lease = {lease:?}\nmax_stalls = {MAX_STALLS}\ncancel_grace = \"1s\"\nshutdown_grace = {grace:?}\n\
         [runtime]\ncache = {:?}\n[admin]\nlisten = \"127.0.0.1:0\"\n",
        plan.cache().display().to_string(),
    );
    let retry = |kind: &str| format!("retries = {}\nretry_delay = \"200ms\"", retries(kind));
    for (name, more) in [
        ("diary", retry("diary")),
        ("diary-scoped", format!("scope = \"required\"\n{}", retry("diary-scoped"))),
        (SINGLE, "slots = 1".to_owned()),
        (TICK, "every = \"2s\"\npayload = { steps = 3, step_ms = 50 }".to_owned()),
        ("echo", String::new()),
        ("slow", format!("timeout = \"{long}s\"")),
        ("fail", retry("fail")),
        ("panic", String::new()),
        ("greedy", String::new()),
        ("sleep", "timeout = \"1s\"".to_owned()),
        ("spin", "timeout = \"1s\"".to_owned()),
    ] {
        text.push_str(&kind(name, &more));
    }
    for name in ["echo", "slow", "fail", "panic", "sleep", "spin"] {
        text.push_str(&format!("[[handlers]]\ncomponent = {:?}\n", guest(name)));
    }
    let diary = plan.folder.join("diary").display().to_string();
    text + &format!(
        "[[handlers]]\ncomponent = {:?}\nmemory = \"32MiB\"\n\
         [[handlers]]\ncomponent = {:?}\n[handlers.config]\nhost = {host:?}\n\
         [[handlers.dirs]]\nguest = \"/diary\"\npath = {diary:?}\nmode = \"read-write\"\n",
        guest("greedy"),
        guest("diary"),
    )
}
