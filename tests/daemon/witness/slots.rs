//! How many run at a time.

use serde_json::json;
use workhost_queue::{ItemId, Status, WorkItem};

use super::stage::{Stage, WORKER};
use crate::harness::*;

/// The most items that ran at once, by what the store recorded of them.
fn at_once(items: &[&WorkItem]) -> usize {
    let overlaps = |item: &&WorkItem| {
        let start = item.started_at.unwrap();
        items.iter().filter(|other| other.started_at.unwrap() <= start && start < other.finished_at.unwrap()).count()
    };
    items.iter().map(overlaps).max().unwrap()
}

on_both_stores! {
    async fn a_full_kind_holds_up_nobody_and_nothing_is_claimed_that_cannot_start(w: Workshop) {
        let stage = Stage::new(&w, &WORKER.replace("slots = 16", "slots = 4"), "slots = 1", "").await;
        // The full kind is first in line.
        let mut narrow = Vec::new();
        for _ in 0..3 {
            narrow.push(stage.enqueue("witness", json!({ "does": "race" })).await);
        }
        let mut wide = Vec::new();
        for _ in 0..5 {
            wide.push(stage.enqueue("bystander", json!({ "does": "race" })).await);
        }
        let daemon = w.serve();
        // One of the full kind, three of the other: those that were first in line, and all of them at work.
        let running = async |ids: &[ItemId]| {
            for id in ids {
                stage.until_traces(*id, 1).await;
            }
            for id in narrow.iter().chain(&wide) {
                let item = w.item(*id).await;
                let begun = !stage.traces(*id).is_empty();
                assert_eq!(item.status == Status::Running, ids.contains(id), "item {id}: {item:#?}");
                assert_eq!(item.attempt > 0, begun, "item {id} is claimed and has not begun");
            }
        };
        let next = async |done: ItemId, ids: &[ItemId]| {
            stage.go(done);
            w.until_finished(done).await;
            running(ids).await;
        };
        running(&[narrow[0], wide[0], wide[1], wide[2]]).await;
        next(wide[1], &[narrow[0], wide[0], wide[2], wide[3]]).await;
        next(narrow[0], &[narrow[1], wide[0], wide[2], wide[3]]).await;
        next(narrow[1], &[narrow[2], wide[0], wide[2], wide[3]]).await;
        next(narrow[2], &[wide[0], wide[2], wide[3], wide[4]]).await;
        for id in [wide[0], wide[2], wide[3], wide[4]] {
            stage.go(id);
        }
        let mut items = Vec::new();
        for id in narrow.iter().chain(&wide) {
            items.push(w.until_finished(*id).await);
        }
        let of_kind = |kind: &str| items.iter().filter(|item| item.kind == kind).collect::<Vec<_>>();
        assert_eq!(at_once(&of_kind("witness")), 1);
        assert_eq!(at_once(&items.iter().collect::<Vec<_>>()), 4);
        daemon.stop();
    }

    async fn no_more_run_at_a_time_than_there_are_slots_however_fast_they_end(w: Workshop) {
        let stage = Stage::new(&w, &WORKER.replace("slots = 16", "slots = 4"), "slots = 1", "").await;
        let mut ids = Vec::new();
        for number in 0..60 {
            let kind = if number % 3 == 0 { "witness" } else { "bystander" };
            let id = stage.enqueue(kind, json!({ "does": "race" })).await;
            stage.go(id);
            ids.push(id);
        }
        let daemon = w.serve();
        let mut items = Vec::new();
        for id in ids {
            items.push(w.until_finished(id).await);
        }
        daemon.stop();
        let narrow: Vec<_> = items.iter().filter(|item| item.kind == "witness").collect();
        assert_eq!(at_once(&narrow), 1);
        assert!(at_once(&items.iter().collect::<Vec<_>>()) <= 4);
        // By the guests' own clock as well.
        let mut spans: Vec<_> = narrow.iter().map(|item| {
            let traces = stage.traces(item.id);
            (traces[0].at, traces[traces.len() - 1].at)
        }).collect();
        spans.sort();
        assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{spans:?}");
    }
}
