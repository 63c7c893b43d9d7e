//! The HTTP server.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;
use workhost_queue::Queue;

use crate::Readiness;
use crate::health::{healthz, readyz};

/// What the API reads from.
#[derive(Clone)]
pub struct AdminState {
    /// The store.
    pub queue: Arc<dyn Queue>,
    /// What the rest of the process says of itself.
    pub readiness: Readiness,
}

/// Takes the address to listen on; port 0 takes a free one.
///
/// # Errors
/// The address with the system's reason, such as another process listening there.
pub async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}")))
}

/// Answers requests until `stop` is over, then lets running requests end.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    listener: TcpListener,
    state: AdminState,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let router = Router::new().route("/healthz", get(healthz)).route("/readyz", get(readyz)).with_state(state);
    axum::serve(listener, router).with_graceful_shutdown(stop).await
}
