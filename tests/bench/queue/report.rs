//! What was measured, for people and for programs.

use comfy_table::{CellAlignment, Table, presets};
use serde_json::json;

use crate::database::Engine;

pub(crate) struct Line {
    pub(crate) engine: Engine,
    pub(crate) beside: String,
    pub(crate) what: String,
    /// Items a second.
    pub(crate) rate: f64,
    /// Against the store without what lies beside.
    pub(crate) ratio: Option<f64>,
}

#[derive(Default)]
pub(crate) struct Report {
    pub(crate) lines: Vec<Line>,
}

impl Report {
    pub(crate) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN).set_header(["store", "beside", "what", "items/s", "ratio"]);
        for line in &self.lines {
            let ratio = line.ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
            table.add_row([
                line.engine.to_string(),
                line.beside.clone(),
                line.what.clone(),
                format!("{:.0}", line.rate),
                ratio,
            ]);
        }
        for column in [3, 4] {
            table.column_mut(column).unwrap().set_cell_alignment(CellAlignment::Right);
        }
        table.to_string()
    }

    pub(crate) fn json(&self) -> String {
        let line = |line: &Line| {
            json!({
                "store": line.engine.to_string(), "beside": line.beside, "what": line.what,
                "items_per_second": line.rate, "ratio": line.ratio,
            })
        };
        json!({ "figures": self.lines.iter().map(line).collect::<Vec<_>>() }).to_string()
    }
}
