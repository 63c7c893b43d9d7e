//! One attempt: a fresh sandbox, one call of `run`, and what it came to.

use std::sync::Arc;

use wasmtime::Store;

use crate::bindings::exports::workhost::handler::handler::WorkItem;
use crate::bindings::workhost::handler::types::{Ending, Failure};
use crate::capability::dirs::{self, NotOpen};
use crate::capability::{Caller, Contexts};
use crate::control::Control;
use crate::ended::{self, Ended};
use crate::handler::Loaded;
use crate::job::Job;
use crate::output::Output;
use crate::sandbox::{self, Capabilities, State};

/// Runs one job of a loaded handler.
pub(crate) async fn run(handler: &Loaded, job: Job, control: Arc<Control>) -> Ended {
    let shared = handler.runtime.shared();
    let limits = &handler.limits;
    let ended = tokio::select! {
        // The end first: it must hold even if the guest is ready at the same time.
        biased;
        () = control.ended() => Ended::ByHost,
        ended = async {
            // A sandbox of the pool; waiting for one costs nothing but time.
            let _turn = shared.turns.acquire().await.expect("the semaphore is never closed");
            let wasi = match dirs::open(&handler.granted.dirs, job.scope.as_deref()).await {
                Ok(wasi) => wasi,
                Err(NotOpen { message, permanent }) => return Ended::Failed { message, permanent },
            };
            let output = Output::new(job.id, job.kind.clone(), job.attempt, limits, &control, handler.mask.clone());
            let contexts = Contexts::new(&handler.granted, &Caller::new(&control, &job), &output, limits);
            let capabilities = Capabilities { contexts, wasi };
            let mut store = sandbox::store(&shared.engine, limits, handler.memory_bytes, capabilities, &control, &output);
            let outcome = call(handler, &mut store, job).await;
            // Whatever a guest met that was ended meanwhile: it is not at fault.
            if outcome.is_err() && control.is_ended() {
                return Ended::ByHost;
            }
            ended::from_run(outcome, &output.stderr_tail(), limits, &handler.mask)
        } => ended,
    };
    // The sandbox is gone, but something of it may be under way still that could not be taken back.
    control.settled().await;
    ended
}

/// Instantiates and calls, both inside the sandbox's limits.
async fn call(handler: &Loaded, store: &mut Store<State>, job: Job) -> wasmtime::Result<Result<Ending, Failure>> {
    let guest = handler.pre.instantiate_async(&mut *store).await?;
    let item = WorkItem {
        id: job.id,
        kind: job.kind,
        scope: job.scope,
        attempt: job.attempt,
        payload: job.payload,
        resume_from: job.resume_from,
    };
    guest.workhost_handler_handler().call_run(store, &item).await
}
