//! What ran, and where to look on.

use std::time::Duration;

use comfy_table::{Table, presets};
use workhost_queue::{Status, WorkItem};

use crate::scene::Scene;

/// Prints the table and the commands that look into the databases.
pub(crate) fn print(scene: &Scene, items: &[WorkItem], took: Duration) {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_header(["kind", "scope", "attempts", "time", "status", "result"]);
    for item in items {
        let result = match item.status {
            Status::Succeeded => summary(item),
            _ => item.error.clone().or(item.reason.clone()).unwrap_or_default(),
        };
        table.add_row([
            item.kind.clone(),
            item.scope.clone().unwrap_or_default(),
            item.attempt.to_string(),
            time(item),
            item.status.to_string(),
            result,
        ]);
    }
    let (app, command) = (scene.app(), scene.command_line());
    println!(
        "\n{table}\n\n{} items in {:.1} s. The databases are still there:\n\
         \x20 the queue              {}\n\x20   {command} list\n\x20   {command} show {}\n\
         \x20 the application's      {}\n\x20   sqlite3 {} 'select path, size, width, height from crawled_files limit 10'\n\
         \x20 the log of the daemon  {}",
        items.len(),
        took.as_secs_f64(),
        scene.store().display(),
        items.last().map_or(1, |item| item.id.0),
        app.display(),
        app.display(),
        scene.log().display(),
    );
}

/// The numbers of a result that are worth a line; what is zero is left out.
fn summary(item: &WorkItem) -> String {
    let result = item.result.as_ref().map(|json| json.to_value()).unwrap_or_default();
    let Some(fields) = result.as_object() else { return result.to_string() };
    let worth = fields.iter().filter(|(name, value)| value.as_u64() != Some(0) || name.as_str() == "deleted");
    worth
        .filter(|(_, value)| value.is_u64() || value.is_string())
        .map(|(name, value)| {
            format!("{} {}", name.replace('_', " "), value.as_str().map_or(value.to_string(), str::to_owned))
        })
        .collect::<Vec<_>>()
        .join(", ")
}

fn time(item: &WorkItem) -> String {
    match (item.started_at, item.finished_at) {
        (Some(started), Some(finished)) => format!("{:.2} s", (finished - started).as_seconds_f64()),
        _ => String::new(),
    }
}
