//! Live progress: bars on a terminal, plain lines elsewhere.

use std::collections::HashMap;
use std::io::IsTerminal as _;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use workhost_queue::{ItemId, Status, WorkItem};

use crate::scene::Scene;

/// What is shown of each item.
pub(crate) struct View {
    bars: Option<MultiProgress>,
    items: HashMap<ItemId, Shown>,
    files: HashMap<String, u64>,
}

struct Shown {
    bar: Option<ProgressBar>,
    line: String,
}

impl View {
    pub(crate) fn new(scene: &Scene) -> View {
        let files = scene.scopes.iter().map(|scope| (scope.name.clone(), scope.files)).collect();
        let bars = std::io::stdout().is_terminal().then(MultiProgress::new);
        View { bars, items: HashMap::new(), files }
    }

    /// Shows what changed.
    pub(crate) fn show(&mut self, items: &[WorkItem]) {
        for item in items {
            let total = item.scope.as_ref().and_then(|scope| self.files.get(scope)).copied().unwrap_or(1);
            let (done, text) = state(item, total);
            let shown = self.items.entry(item.id).or_insert_with(|| {
                let bar = self.bars.as_ref().map(|bars| bars.add(ProgressBar::new(total).with_style(style())));
                Shown { bar, line: String::new() }
            });
            let name = name(item);
            if let Some(bar) = &shown.bar {
                bar.set_prefix(name);
                bar.set_position(done);
                bar.set_message(text);
                if item.status.is_finished() {
                    bar.abandon();
                }
            } else {
                let line = format!("{name}: {text}");
                if shown.line != line {
                    println!("{line}");
                    shown.line = line;
                }
            }
        }
    }

    /// Leaves the bars as they are.
    pub(crate) fn finish(&self) {
        for shown in self.items.values() {
            if let Some(bar) = &shown.bar {
                bar.abandon();
            }
        }
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{prefix:24} {bar:30} {msg}").expect("the template is right")
}

/// The item as people know it.
pub(crate) fn name(item: &WorkItem) -> String {
    match &item.scope {
        Some(scope) => format!("{} {scope}", item.kind),
        None => item.kind.clone(),
    }
}

/// How far an item is: of its files, and in words.
fn state(item: &WorkItem, total: u64) -> (u64, String) {
    match (item.status, &item.progress) {
        (Status::Queued, _) => (0, "queued".to_owned()),
        (Status::Running, Some(progress)) if item.kind == "crawl" => {
            let progress = progress.to_value();
            let files = progress["files_done"].as_u64().unwrap_or(0);
            let megabytes = progress["bytes_done"].as_u64().unwrap_or(0) / 1_000_000;
            let folder = progress["folder"].as_str().unwrap_or_default();
            (files.min(total), format!("{files} of {total} files, {megabytes} MB, in {folder:?}"))
        }
        (Status::Running, _) => (0, "running".to_owned()),
        (status, _) => (total, status.to_string()),
    }
}
