//! The HTTP API over the queue's verbs: the only crate that knows axum.
