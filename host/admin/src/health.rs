//! `/healthz`: the process answers. `/readyz`: it can do its work.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use tokio::time::timeout;

use crate::AdminState;

/// How long the store may take to answer before readiness is red.
const STORE_ANSWERS_WITHIN: Duration = Duration::from_secs(2);

#[derive(Serialize)]
pub(crate) struct Health {
    status: &'static str,
}

/// Whether the process can do its work, and what is red.
#[derive(Serialize)]
pub(crate) struct Ready {
    ready: bool,
    red: BTreeMap<&'static str, String>,
}

pub(crate) async fn healthz() -> Json<Health> {
    Json(Health { status: "ok" })
}

pub(crate) async fn readyz(State(state): State<AdminState>) -> (StatusCode, Json<Ready>) {
    let mut red = state.readiness.reds();
    match timeout(STORE_ANSWERS_WITHIN, state.queue.check()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => drop(red.insert("store", error.to_string())),
        Err(_) => drop(red.insert("store", format!("no answer within {STORE_ANSWERS_WITHIN:?}"))),
    }
    let status = if red.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Ready { ready: red.is_empty(), red }))
}
