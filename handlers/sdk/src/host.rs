//! The host's functions: the real ones inside a component, [`testing`](crate::testing)'s elsewhere.

#[cfg(target_family = "wasm")]
pub(crate) use crate::bindings::workhost::handler::{
    log::log, retention::delete_finished, sql::execute, sql::query, work::report_progress, work::stop_requested,
};

#[cfg(not(target_family = "wasm"))]
pub(crate) use crate::testing::calls::{delete_finished, execute, log, query, report_progress, stop_requested};
