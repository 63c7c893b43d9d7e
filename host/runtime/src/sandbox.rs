//! A fresh sandbox for one attempt: the store, what is in it, and its brakes.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime::{Engine, Store, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};

use crate::capability::Contexts;
use crate::capability::log::LogContext;
use crate::capability::work::WorkContext;
use crate::control::{Control, EndedByHost};
use crate::limiter::Limiter;
use crate::limits::Limits;
use crate::output::{Output, Stream};

/// Everything that host functions find in a store.
pub(crate) struct State {
    /// Before the table, so that what is still under way in it sees that the sandbox goes.
    pub(crate) contexts: Contexts,
    wasi: WasiCtx,
    table: ResourceTable,
    /// Stands in for the table once the attempt was ended.
    nothing: ResourceTable,
    control: Arc<Control>,
    limiter: Limiter,
    pub(crate) work: WorkContext,
    pub(crate) log: LogContext,
}

/// The capabilities that a sandbox gets, ready for use.
pub(crate) struct Capabilities {
    pub(crate) contexts: Contexts,
    /// Granted folders have been opened into it.
    pub(crate) wasi: WasiCtxBuilder,
}

/// A store in which a guest can do no more than `limits` and `capabilities` allow.
pub(crate) fn store(
    engine: &Engine,
    limits: &Limits,
    memory_bytes: usize,
    mut capabilities: Capabilities,
    control: &Arc<Control>,
    output: &Arc<Output>,
) -> Store<State> {
    let wasi = capabilities
        .wasi
        .stdout(output.stream(Stream::Stdout))
        .stderr(output.stream(Stream::Stderr))
        .max_random_size(limits.random_bytes)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .build();
    let mut table = ResourceTable::new();
    table.set_max_capacity(limits.resources);
    let state = State {
        contexts: capabilities.contexts,
        wasi,
        table,
        nothing: ResourceTable::new(),
        control: control.clone(),
        limiter: Limiter::new(limits, memory_bytes),
        work: WorkContext::new(control.clone(), limits.progress_bytes),
        log: LogContext::new(control.clone(), output.clone()),
    };
    let mut store = Store::new(engine, state);
    store.limiter(|state| &mut state.limiter);
    store.set_hostcall_fuel(limits.hostcall_bytes);
    store.set_max_component_handles(limits.component_handles);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|store| {
        if store.data().control.is_ended() {
            return Err(EndedByHost.into());
        }
        // Give way to other tasks once per epoch. tokio's own yield, since others would starve a worker.
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
    });
    store
}

impl WasiView for State {
    /// The gate before every call of WASI: a guest that was ended finds none of its files and streams, so
    /// that its calls trap instead of having an effect.
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let table = if self.control.is_ended() { &mut self.nothing } else { &mut self.table };
        WasiCtxView { ctx: &mut self.wasi, table }
    }
}

impl WasiHttpView for State {
    /// The same gate before every call of `wasi:http`.
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        let table = if self.control.is_ended() { &mut self.nothing } else { &mut self.table };
        self.contexts.http.view(table)
    }
}
