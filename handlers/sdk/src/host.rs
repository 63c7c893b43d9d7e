//! The host's functions: the real ones inside a component, [`testing`](crate::testing)'s elsewhere.

#[cfg(target_family = "wasm")]
pub(crate) use crate::bindings::workhost::handler::{
    config::get as config, log::log, queue::enqueue, retention::delete_finished, secrets::get as secret, sql::execute,
    sql::query, work::report_progress, work::stop_requested,
};

#[cfg(all(feature = "http", target_family = "wasm"))]
pub(crate) use crate::http::wasi::send;

#[cfg(all(feature = "http", not(target_family = "wasm")))]
pub(crate) use crate::testing::calls::send;

#[cfg(not(target_family = "wasm"))]
pub(crate) use crate::testing::calls::{
    config, delete_finished, enqueue, execute, log, query, report_progress, secret, stop_requested,
};
